// The import directions of docs/architecture.md, enforced: `npm run deps`.

/** Folder of src/: what it may import besides itself, and why no more. */
const layers = {
  wire: { imports: [], why: "Bytes and ranges; knows neither ONNX nor any operator." },
  ir: {
    imports: [],
    why: "The graph everything else reads; whoever imports it must not drag a file format along.",
  },
  onnx: { imports: ["wire", "ir"], why: "Turns bytes into the graph; the only folder with field numbers." },
  hardware: { imports: [], why: "Rows of facts about GPUs, each with its source." },
  ops: { imports: ["ir"], why: "One operator says everything once; it knows no file and no GPU." },
  facts: { imports: ["ops", "ir"], why: "Inference asks operators; what a GPU costs is not its concern." },
  cost: { imports: ["ops", "ir", "hardware"], why: "Prices a description of work, not a graph." },
  workload: {
    imports: ["facts", "cost", "ops", "ir", "hardware"],
    why: "What a model takes on a target; it judges nothing and changes nothing.",
  },
  lint: {
    imports: ["workload", "facts", "cost", "ops", "ir", "hardware"],
    why: "Runs rules it is handed; it neither reads files nor prints.",
  },
  profile: {
    imports: ["lint", "workload", "facts", "cost", "ops", "ir", "hardware"],
    why: "What somebody measured of a model, layer by layer; its file is read elsewhere.",
  },
  passes: {
    imports: ["workload", "facts", "cost", "ops", "ir", "hardware"],
    why: "Proposes a patch; it never writes bytes.",
  },
  verify: {
    imports: ["facts", "onnx", "ops", "ir"],
    why: "Compares two models by running them; it asks operators what their inputs are, and knows no rule and no pass.",
  },
  settings: {
    imports: ["lint", "cost", "hardware", "ir"],
    why: "What a configuration means for one model; its file is read elsewhere.",
  },
  limits: { imports: ["ir"], why: "Time and memory of any work, whatever it does." },
  files: {
    imports: ["settings", "limits", "cost", "verify", "onnx", "wire", "ir"],
    why: "Files that a user names or that lie about a model; what is done with them is not its concern.",
  },
  fix: {
    imports: ["passes", "workload", "facts", "verify", "onnx", "wire", "ir"],
    why: "Runs passes one after another over a model that is not written yet, and proves what they make.",
  },
  gpu: {
    imports: [
      "fix",
      "settings",
      "passes",
      "workload",
      "facts",
      "verify",
      "cost",
      "onnx",
      "wire",
      "ops",
      "hardware",
      "ir",
    ],
    runtime: true,
    why: "Runs, times and judges models on a GPU; what a repair may do is told it, and nothing is printed.",
  },
  compare: {
    imports: ["lint", "fix", "workload", "facts", "cost", "onnx", "ops", "ir"],
    why: "Says what differs between two models that are priced and linted; it neither opens files nor prints.",
  },
  forge: { imports: ["ir"], why: "Speaks to GitHub and GitLab; what a comment says is not its concern." },
  report: {
    imports: ["gpu", "compare", "fix", "lint", "verify", "hardware", "passes", "ir"],
    why: "Renders data that others hand over; it never runs a rule or looks at a model.",
  },
};

/** Folder of cuda-runtime/: what it may import of the runtime besides itself, what of src/, and why no more. */
const runtimeLayers = {
  ir: {
    imports: [],
    src: ["ir", "hardware"],
    why: "Views, storage types, steps, parameters, expressions: what all others speak of, and nobody's decision.",
  },
  driver: {
    imports: ["ir"],
    src: [],
    why: "CUDA's functions, typed; of a plan it knows the size of a grid.",
  },
  graph: { imports: ["ir"], src: ["ir", "ops", "facts"], why: "Asks the model's graph; knows no kernel." },
  cost: { imports: ["ir"], src: [], why: "Prices a launch by what it touches, whichever kernel it is." },
  ptx: {
    imports: ["ir", "cost"],
    src: ["ir", "hardware"],
    why: "An expression becomes text; which operator wrote it is gone.",
  },
  kernels: {
    imports: ["ptx", "cost", "ir"],
    src: ["ir", "hardware"],
    why: "A request of views becomes launches; it knows neither ONNX nor the graph.",
  },
  lower: {
    imports: ["kernels", "ptx", "ir"],
    src: ["ir", "ops"],
    why: "One operator becomes requests, through its context alone: it sees no neighbour and no planner.",
  },
  patterns: {
    imports: ["lower", "kernels", "graph", "ir"],
    src: ["ir", "ops", "facts"],
    why: "Several nodes become one piece of work, through their context alone.",
  },
  host: {
    imports: ["ir"],
    src: ["ir", "ops"],
    why: "Computes on the CPU what no kernel does; it knows neither the graph nor the GPU.",
  },
  plan: {
    imports: ["host", "cost", "patterns", "lower", "kernels", "ptx", "graph", "ir"],
    src: ["ir", "ops", "facts"],
    why: "Decides what is stored, fused and launched, without a GPU: it knows neither the driver nor a session.",
  },
  session: {
    imports: ["plan", "host", "graph", "driver", "ir"],
    src: ["ir", "ops", "hardware"],
    why: "Runs a plan that is made, and what the host does between its graphs; it knows no kernel.",
  },
};

const projectCode = "^(src|rules|fixtures|test|bench|scripts|cuda-runtime)/";
/** The type of a configuration, and the version: leaves that everyone may import. */
const entries = "^src/(config|version)\\.ts$";
const oneOf = (folders) => `^src/(${folders.join("|")})/`;
const ofRuntime = (folders) => `^cuda-runtime/(${folders.join("|")})/`;

/** Packages that scripts/build.mjs puts into the bundles: development dependencies of package.json. */
const bundled = "node_modules/(@dagrejs/dagre|minimatch|onnx-proto|protobufjs|yargs)/";

/** What ships: everything under src/, rules/ and cuda-runtime/. */
const shipped = "^(src|rules|cuda-runtime)/";

/** @type {import("dependency-cruiser").IConfiguration} */
module.exports = {
  forbidden: [
    ...Object.entries(layers).map(([folder, { imports, runtime = false, why }]) => ({
      name: `${folder}-imports`,
      comment: `${why} Allowed: ${["itself", ...imports, ...(runtime ? ["cuda-runtime"] : [])].join(", ")}.`,
      severity: "error",
      from: { path: `^src/${folder}/` },
      to: {
        path: projectCode,
        pathNot: [oneOf([folder, ...imports]), entries, ...(runtime ? ["^cuda-runtime/"] : [])],
      },
    })),
    ...Object.entries(runtimeLayers).map(([folder, { imports, src, why }]) => ({
      name: `cuda-${folder}-imports`,
      comment: `${why} Allowed: ${["itself", ...imports, ...src.map((name) => `src/${name}`)].join(", ")}.`,
      severity: "error",
      from: { path: `^cuda-runtime/${folder}/` },
      to: {
        path: projectCode,
        pathNot: [ofRuntime([folder, ...imports]), ...(src.length > 0 ? [oneOf(src)] : [])],
      },
    })),
    {
      name: "cuda-runtime-has-layers",
      comment: "Every file of the runtime is in a folder that the table has.",
      severity: "error",
      from: { path: "^cuda-runtime/", pathNot: ofRuntime(Object.keys(runtimeLayers)) },
      to: {},
    },
    {
      name: "entries-are-types-or-values",
      comment: "config.ts and version.ts need nothing at run time, so that anyone may import them.",
      severity: "error",
      from: { path: "^src/(config|version)\\.ts$" },
      to: { path: projectCode, pathNot: "^src/(config|version)\\.ts$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "report-takes-types-only",
      comment:
        "What a report needs of whoever makes it is the shape of its data: types, gone at run time. Rows of hardware are data.",
      severity: "error",
      from: { path: "^src/report/" },
      to: {
        path: projectCode,
        pathNot: oneOf(["report", "ir", "hardware"]),
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "rules-import-lint",
      comment:
        "A rule sees the model through LintContext alone, so that a rule written elsewhere can do the same.",
      severity: "error",
      from: { path: "^rules/" },
      to: { path: projectCode, pathNot: "^(rules|src/lint)/" },
    },
    {
      name: "rules-come-as-arguments",
      comment:
        "The engine is handed its rules; only the composition roots (api, cli, site, the public entries) know them.",
      severity: "error",
      from: { path: "^src/", pathNot: "^src/((api|cli|site)/|[^/]+\\.ts$)" },
      to: { path: "^rules/" },
    },
    {
      name: "cli-is-the-root",
      comment:
        "Nothing depends on the command line but the Action, which is another way to run its commands.",
      severity: "error",
      from: { path: shipped, pathNot: "^src/(cli|action)/" },
      to: { path: "^src/cli/" },
    },
    {
      name: "action-is-a-root",
      comment: "Nothing depends on the Action.",
      severity: "error",
      from: { path: shipped, pathNot: "^src/action/" },
      to: { path: "^src/action/" },
    },
    {
      name: "site-is-a-root",
      comment: "Nothing depends on the page but the page.",
      severity: "error",
      from: { path: shipped, pathNot: "^src/site/" },
      to: { path: "^src/site/" },
    },
    {
      name: "site-has-no-disk-and-no-gpu",
      comment: "A browser has neither: what the page needs of the engine is a function of bytes.",
      severity: "error",
      from: { path: "^src/site/" },
      to: { path: "^(cuda-runtime|src/(cli|files|gpu|limits))/", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "api-is-what-commands-do",
      comment:
        "Below the command line, the library and the page: what a command does, without arguments and streams.",
      severity: "error",
      from: { path: shipped, pathNot: "^src/(api|cli|action|site|(index|rules)\\.ts)" },
      to: { path: "^src/api/" },
    },
    {
      name: "src-has-layers",
      comment: "Every folder of src is in the table, or is a composition root.",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: oneOf([...Object.keys(layers), "api", "cli", "action", "site"]) },
      to: {},
    },
    {
      name: "files-at-the-edges",
      comment:
        "Files are read and written in wire/, onnx/, files/, cli/, action/ and the runtime's session/ only (limits/ asks for sizes): everything between is a function of its input.",
      severity: "error",
      from: { path: shipped, pathNot: "^(src/(wire|onnx|files|limits|cli|action)|cuda-runtime/session)/" },
      to: { path: "^(node:)?fs(/promises)?$" },
    },
    {
      name: "native-modules-on-demand",
      comment:
        "A native module loads by import() where it is used, so that linting starts fast and runs without it.",
      severity: "error",
      from: { path: "^(src|rules|cuda-runtime)/" },
      to: {
        path: "node_modules/(koffi|onnxruntime-node)/",
        // Its version may be asked for without loading it.
        pathNot: "/package\\.json$",
        dynamic: false,
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "shipped-code-stands-alone",
      comment:
        "What ships must not need what does not: tests, fixtures, scripts and development dependencies.",
      severity: "error",
      from: { path: shipped },
      to: { path: "^(fixtures|test|bench|scripts)/" },
    },
    {
      name: "no-development-dependencies",
      comment:
        "A package used by shipped code is bundled, or a dependency (or an optional peer) in package.json. test/package.test.ts looks at what the bundles import.",
      severity: "error",
      from: { path: shipped },
      to: {
        pathNot: bundled,
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only", "npm-peer", "npm-optional"],
      },
    },
    {
      name: "no-unresolvable",
      comment: "An import that leads nowhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "no-cycles",
      comment:
        "Modules that need each other at run time are one module in two files. Types of one folder may refer to each other.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-type-cycles-across-folders",
      comment: "Folders whose types need each other are one folder. A family of kernels counts as a folder.",
      severity: "error",
      from: { path: "^(src/[^/]+/|rules/|cuda-runtime/(?:kernels/)?[^/]+/)" },
      to: { circular: true, via: { pathNot: "^$1" } },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["types", "import", "node", "default"],
      extensions: [".ts", ".js", ".mjs", ".json"],
    },
  },
};
