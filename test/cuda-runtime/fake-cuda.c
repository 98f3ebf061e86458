// A CUDA driver without a GPU: memory is the host's, streams do at once what they are given, kernels are the few C
// functions below. It forces what a GPU does rarely: faults, hangs, crashes, too little memory, an old driver, and of a
// graph the latest work first that waits for nothing any more.
//
// Environment: FAKE_CUDA_VERSION (13000), FAKE_CUDA_BYTES (memory of the device), FAKE_CUDA_DEVICES (1), FAKE_CUDA_ANY (1:
// takes all machine code, whose kernels do nothing), FAKE_CUDA_NAME (Fake GPU), FAKE_CUDA_CLOCK (nanoseconds that a block
// of a kernel takes, one after the other; without it any two events are 250 microseconds apart).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uint64_t Handle;
enum { kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200, kInvalidPtx = 218,
       kNotFound = 500, kIllegalAddress = 700, kUnjoined = 904, kIsolation = 905 };

static int sticky = kSuccess;
static int64_t live = 0;
static int64_t used = 0;

static int64_t setting(const char* name, int64_t standard) {
  const char* text = getenv(name);
  return text == NULL ? standard : atoll(text);
}

// How many things are not given back: for tests.
int64_t fakeLive(void) { return live; }
static int make(Handle* to, Handle value) { live++; *to = value; return sticky; }
static int drop(void) { live--; return sticky; }

int cuInit(unsigned flags) { (void)flags; return setting("FAKE_CUDA_DEVICES", 1) > 0 ? kSuccess : kNoDevice; }
int cuDriverGetVersion(int* version) { *version = (int)setting("FAKE_CUDA_VERSION", 13000); return kSuccess; }
int cuGetErrorName(int code, const char** text) {
  *text = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : code == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
        : code == kNoDevice ? "CUDA_ERROR_NO_DEVICE" : code == kNotFound ? "CUDA_ERROR_NOT_FOUND" : NULL;
  return *text == NULL ? kInvalidValue : kSuccess;
}
int cuGetErrorString(int code, const char** text) { (void)code; *text = "what it means"; return kSuccess; }

int cuDeviceGetCount(int* count) { *count = (int)setting("FAKE_CUDA_DEVICES", 1); return kSuccess; }
int cuDeviceGet(int* device, int index) { *device = index; return kSuccess; }
int cuDeviceGetName(char* name, int length, int device) {
  const char* own = getenv("FAKE_CUDA_NAME");
  snprintf(name, length, "%s %d", own == NULL ? "Fake GPU" : own, device);
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  // An L2 of 4 MiB: between timed runs twice as much is filled, here by the processor.
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 97 ? 232448
         : attribute == 38 ? 4 << 20 : attribute == 13 ? 1980000 : 1;
  return kSuccess;
}
int cuDeviceTotalMem_v2(uint64_t* bytes, int device) { (void)device; *bytes = setting("FAKE_CUDA_BYTES", 1ll << 33); return kSuccess; }
int cuDevicePrimaryCtxRetain(Handle* context, int device) { return make(context, device + 1); }
int cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return drop(); }
int cuCtxSetCurrent(Handle context) { (void)context; return kSuccess; }
int cuCtxSynchronize(void) { return sticky; }
int cuProfilerStart(void) { return sticky; }
int cuProfilerStop(void) { return sticky; }

int cuMemGetInfo_v2(uint64_t* left, uint64_t* total) {
  *total = setting("FAKE_CUDA_BYTES", 1ll << 33);
  *left = *total - used;
  return sticky;
}
int cuMemAlloc_v2(Handle* address, uint64_t bytes) {
  if (bytes == 0) return kInvalidValue;
  if (used + (int64_t)bytes > setting("FAKE_CUDA_BYTES", 1ll << 33)) return kOutOfMemory;
  used += bytes;
  uint64_t* block = malloc(bytes + 256);
  block[0] = bytes;
  return make(address, (Handle)block + 256);
}
int cuMemFree_v2(Handle address) {
  uint64_t* block = (uint64_t*)(address - 256);
  used -= block[0];
  free(block);
  return drop();
}
int cuMemHostAlloc(Handle* address, uint64_t bytes, unsigned flags) { (void)flags; return make(address, (Handle)malloc(bytes)); }
int cuMemFreeHost(Handle address) { free((void*)address); return drop(); }

// Work: done at once, or added to the graph that is being captured.
typedef struct Work {
  int kind;  // 0 copy, 1 fill, 2 kernel
  Handle to, from;
  uint64_t bytes;
  int value;
  unsigned char params[4096];
  int64_t blocks;
} Work;

// Of a graph, the work that other work waits for, by its number.
enum { kMostWork = 512, kMostStreams = 64 };
typedef struct { unsigned char of[kMostWork]; } Waits;
typedef struct { Work work[kMostWork]; Waits waits[kMostWork]; int order[kMostWork]; int count; } Graph;
// A stream takes part in a capture that began on it, or once it waits for an event of it.
typedef struct { int isOpen, isCaptured; Waits waits; } Stream;
static Stream streams[kMostStreams];
static const Handle firstStream = 77;
static Stream* streamOf(Handle handle) { return &streams[handle >= firstStream && handle < firstStream + kMostStreams ? handle - firstStream : 0]; }
typedef struct { int64_t blocks; Graph* graph; Waits waits; } Event;
static Graph* capturing = NULL;
static void wait(Waits* to, const Waits* from) { for (int i = 0; i < kMostWork; i++) to->of[i] |= from->of[i]; }
static int64_t blocksRun = 0;

static float* floatAt(Work* work, int at) { float* p; memcpy(&p, work->params + at, 8); return p; }
static void runKernel(Work* work) {
  int count;
  blocksRun += work->blocks;
  switch (work->to) {
    case 1:  // fake_add: { const float* a; const float* b; float* c; int n; }
      memcpy(&count, work->params + 24, 4);
      for (int i = 0; i < count; i++) floatAt(work, 16)[i] = floatAt(work, 0)[i] + floatAt(work, 8)[i];
      break;
    case 2: sticky = kIllegalAddress; break;          // fake_fault
    case 3: for (;;) sleep(1000);                     // fake_hang
    case 4: abort();                                  // fake_crash
  }
}
static void runWork(Work* work) {
  if (sticky != kSuccess) return;
  if (work->kind == 0) memcpy((void*)work->to, (void*)work->from, work->bytes);
  else if (work->kind == 1) memset((void*)work->to, work->value, work->bytes);
  else runKernel(work);
}
static int give(Work work, Handle handle) {
  Stream* stream = streamOf(handle);
  if (capturing == NULL || !stream->isCaptured) { runWork(&work); return kSuccess; }
  if (capturing->count == kMostWork) return kOutOfMemory;
  const int at = capturing->count++;
  capturing->work[at] = work;
  capturing->waits[at] = stream->waits;
  memset(&stream->waits, 0, sizeof stream->waits);
  stream->waits.of[at] = 1;
  return kSuccess;
}
int cuMemcpyHtoDAsync_v2(Handle to, Handle from, uint64_t bytes, Handle stream) { return give((Work){0, to, from, bytes}, stream); }
int cuMemcpyDtoDAsync_v2(Handle to, Handle from, uint64_t bytes, Handle stream) { return give((Work){0, to, from, bytes}, stream); }
int cuMemcpyDtoHAsync_v2(Handle to, Handle from, uint64_t bytes, Handle stream) { return give((Work){0, to, from, bytes}, stream); }
int cuMemsetD8Async(Handle to, unsigned value, uint64_t bytes, Handle stream) { return give((Work){1, to, 0, bytes, (int)value}, stream); }

int cuStreamCreate(Handle* stream, unsigned flags) {
  (void)flags;
  int slot = 0;
  while (slot + 1 < kMostStreams && streams[slot].isOpen) slot++;
  streams[slot] = (Stream){1};
  return make(stream, firstStream + slot);
}
int cuStreamDestroy_v2(Handle stream) { streamOf(stream)->isOpen = 0; return drop(); }
int cuStreamSynchronize(Handle stream) { (void)stream; return sticky; }
int cuStreamBeginCapture_v2(Handle stream, int mode) {
  (void)mode;
  capturing = calloc(1, sizeof(Graph));
  for (int i = 0; i < kMostStreams; i++) { streams[i].isCaptured = 0; memset(&streams[i].waits, 0, sizeof(Waits)); }
  streamOf(stream)->isCaptured = 1;
  return kSuccess;
}
// The latest first of what waits for nothing any more.
static void setOrder(Graph* graph) {
  unsigned char isDone[kMostWork] = {0};
  for (int done = 0; done < graph->count; done++) {
    int next = -1;
    for (int i = 0; i < graph->count; i++) {
      int isReady = !isDone[i];
      for (int j = 0; isReady && j < i; j++) isReady = !graph->waits[i].of[j] || isDone[j];
      if (isReady) next = i;
    }
    graph->order[done] = next;
    isDone[next] = 1;
  }
}
// Work behind which nothing of the stream that began comes was given to one that was not joined again.
int cuStreamEndCapture(Handle stream, Handle* graph) {
  Graph* ended = capturing;
  Waits joined = streamOf(stream)->waits;
  capturing = NULL;
  for (int i = ended->count; i-- > 0;) if (joined.of[i]) wait(&joined, &ended->waits[i]);
  for (int i = 0; i < ended->count; i++) if (!joined.of[i]) { free(ended); *graph = 0; return kUnjoined; }
  setOrder(ended);
  live++;
  *graph = (Handle)ended;
  return kSuccess;
}
int cuStreamWaitEvent(Handle handle, Handle event, unsigned flags) {
  const Event* from = (Event*)event;
  Stream* stream = streamOf(handle);
  (void)flags;
  if (capturing == NULL) return sticky;
  if (from->graph != capturing) return stream->isCaptured ? kIsolation : sticky;
  stream->isCaptured = 1;
  wait(&stream->waits, &from->waits);
  return sticky;
}
int cuEventCreate(Handle* event, unsigned flags) { (void)flags; return make(event, (Handle)calloc(1, sizeof(Event))); }
int cuEventDestroy_v2(Handle event) { free((void*)event); return drop(); }
int cuEventRecord(Handle event, Handle stream) {
  Stream* from = streamOf(stream);
  *(Event*)event = (Event){blocksRun, from->isCaptured ? capturing : NULL, from->waits};
  return sticky;
}
int cuEventSynchronize(Handle event) { (void)event; return sticky; }
int cuEventElapsedTime(float* milliseconds, Handle a, Handle b) {
  const int64_t nanoseconds = setting("FAKE_CUDA_CLOCK", 0);
  *milliseconds = nanoseconds == 0 ? 0.25f : (((Event*)b)->blocks - ((Event*)a)->blocks) * nanoseconds / 1e6f;
  return sticky;
}
int cuGraphDestroy(Handle graph) { (void)graph; return drop(); }
int cuGraphInstantiateWithFlags(Handle* executable, Handle graph, uint64_t flags) { (void)flags; return make(executable, graph); }
int cuGraphExecDestroy(Handle graph) { (void)graph; return drop(); }
int cuGraphUpload(Handle graph, Handle stream) { (void)graph; (void)stream; return sticky; }
int cuGraphLaunch(Handle graph, Handle stream) {
  Graph* own = (Graph*)graph;
  (void)stream;
  for (int done = 0; done < own->count; done++) runWork(&own->work[own->order[done]]);
  return kSuccess;
}

static const char* entries[] = { "", "fake_add", "fake_fault", "fake_hang", "fake_crash" };
int cuLibraryLoadData(Handle* library, const char* data, void* a, void* b, unsigned c, void* d, void* e, unsigned f) {
  (void)a; (void)b; (void)c; (void)d; (void)e; (void)f;
  return strncmp(data, "FAKE", 4) == 0 || setting("FAKE_CUDA_ANY", 0) ? make(library, 5) : kInvalidImage;
}
int cuLibraryUnload(Handle library) { (void)library; return drop(); }
int cuLibraryGetKernel(Handle* kernel, Handle library, const char* name) {
  (void)library;
  // What is compiled from PTX does nothing here.
  if (strncmp(name, "chain_", 6) == 0 || setting("FAKE_CUDA_ANY", 0)) { *kernel = 5; return kSuccess; }
  for (int i = 1; i < 5; i++) if (strcmp(name, entries[i]) == 0) { *kernel = i; return kSuccess; }
  return kNotFound;
}
int cuKernelGetFunction(Handle* function, Handle kernel) { *function = kernel; return kSuccess; }
int cuFuncGetAttribute(int* value, int attribute, Handle function) { (void)attribute; (void)function; *value = 0; return kSuccess; }
static int largeClusters;
int fakeLargeClusters(void) { return largeClusters; }
int cuFuncSetAttribute(Handle function, int attribute, int value) {
  (void)function;
  if (attribute == 14) largeClusters += value;
  return value > 232448 ? kInvalidValue : kSuccess;
}

int cuTensorMapEncodeTiled(char* map, int type, unsigned rank, Handle address, const uint64_t* sizes, const uint64_t* strides,
                           const unsigned* box, const unsigned* steps, int interleave, int swizzle, int promotion, int fill) {
  if ((uint64_t)map % 64 != 0 || address % 16 != 0 || rank < 3 || rank > 5 || interleave != 0) return kInvalidValue;
  for (unsigned i = 0; i < rank; ++i) if (sizes[i] == 0 || box[i] == 0 || box[i] > 256 || steps[i] != 1) return kInvalidValue;
  for (unsigned i = 0; i + 1 < rank; ++i) if (strides[i] % 16 != 0) return kInvalidValue;
  memset(map, type + swizzle + promotion + fill, 128);
  return kSuccess;
}

int cuTensorMapEncodeIm2col(char* map, int type, unsigned rank, Handle address, const uint64_t* sizes, const uint64_t* strides,
                            const int* lower, const int* upper, unsigned channels, unsigned positions, const unsigned* steps,
                            int interleave, int swizzle, int promotion, int fill) {
  if ((uint64_t)map % 64 != 0 || address % 16 != 0 || rank < 4 || rank > 5 || interleave != 0) return kInvalidValue;
  if (channels == 0 || channels > 64 || positions == 0 || positions > 1024 || steps[0] != 1 || steps[rank - 1] != 1) return kInvalidValue;
  const int reach = rank == 4 ? 128 : 16;
  for (unsigned i = 0; i < rank; ++i) if (sizes[i] == 0 || steps[i] == 0 || steps[i] > 8) return kInvalidValue;
  for (unsigned i = 0; i + 1 < rank; ++i) if (strides[i] == 0 || strides[i] % 16 != 0) return kInvalidValue;
  for (unsigned i = 0; i + 2 < rank; ++i) {
    if (lower[i] < -reach || lower[i] >= reach || upper[i] < -reach || upper[i] >= reach) return kInvalidValue;
  }
  memset(map, type + swizzle + promotion + fill, 128);
  return kSuccess;
}

// As cuda.h lays them out.
typedef struct { int id; char pad[4]; union { struct { unsigned x, y, z; } cluster; char pad[64]; } value; } Attribute;
typedef struct { unsigned grid[3], block[3], shared; Handle stream; Attribute* attributes; unsigned count; } Config;
static char lastLaunch[256];
const char* fakeLastLaunch(void) { return lastLaunch; }
int cuLaunchKernelEx(const Config* config, Handle function, void** params, void** extra) {
  if (params == NULL || extra != NULL) return kInvalidValue;
  Work work = {2, function};
  // How many there are, a driver knows from the kernel.
  memcpy(work.params, params[0], sizeof work.params);
  work.blocks = (int64_t)config->grid[0] * config->grid[1] * config->grid[2];
  int at = snprintf(lastLaunch, sizeof lastLaunch, "grid %u %u %u block %u %u %u shared %u stream %llu",
    config->grid[0], config->grid[1], config->grid[2], config->block[0], config->block[1], config->block[2],
    config->shared, (unsigned long long)config->stream);
  for (unsigned i = 0; i < config->count; ++i) {
    const Attribute* attribute = config->attributes + i;
    at += snprintf(lastLaunch + at, sizeof lastLaunch - at, " attribute %d %u", attribute->id, attribute->value.cluster.x);
    if (attribute->id != 4) continue;
    at += snprintf(lastLaunch + at, sizeof lastLaunch - at, " %u %u", attribute->value.cluster.y, attribute->value.cluster.z);
  }
  return give(work, config->stream);
}

typedef struct { char* log; uint64_t size; int failed; } Link;
int cuLinkCreate_v2(unsigned count, int* options, void** values, Handle* state) {
  if (count != 2 || options[0] != 5 || options[1] != 6) return kInvalidValue;
  Link* link = malloc(sizeof(Link));
  *link = (Link){values[0], (uint64_t)values[1], 0};
  return make(state, (Handle)link);
}
int cuLinkAddData_v2(Handle state, int type, const char* data, uint64_t bytes, const char* name, unsigned count, void* a, void* b) {
  (void)count; (void)a; (void)b;
  if (type != 1 || data[bytes - 1] != 0) return kInvalidValue;
  if (strstr(data, ".entry") != NULL) return kSuccess;
  snprintf(((Link*)state)->log, ((Link*)state)->size, "%s has no entry", name);
  return kInvalidPtx;
}
static char cubin[] = "FAKE cubin";
int cuLinkComplete(Handle state, Handle* code, uint64_t* bytes) { (void)state; *code = (Handle)cubin; *bytes = sizeof cubin; return kSuccess; }
int cuLinkDestroy(Handle state) { free((void*)state); return drop(); }
