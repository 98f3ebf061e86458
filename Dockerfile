# tc-lint in a container: `docker build -t tc-lint .`, then `docker run --rm -v "$PWD:/work" tc-lint models/`.
# The GPU commands need NVIDIA's container runtime and kernels (`npm run build:cuda` before the build).
FROM node:20-slim AS build
WORKDIR /src
# The packages first: they change less often than the sources.
COPY package.json package-lock.json ./
ENV ONNXRUNTIME_NODE_INSTALL=skip
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm pack --ignore-scripts --pack-destination /tmp

# The first Node that reads tc-lint.config.ts by itself is 22.18.
FROM node:24-slim
# git: for `compare --base`, in checkouts that belong to whoever runs the container.
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY --from=build /tmp/tc-lint-*.tgz /tmp/tc-lint.tgz
RUN npm install --global --ignore-scripts --omit=dev --omit=peer /tmp/tc-lint.tgz && rm /tmp/tc-lint.tgz
# Of the image, with a home for the cache; `--user "$(id -u)"` where the mounted folder is somebody else's.
USER node
WORKDIR /work
ENTRYPOINT ["tc-lint"]
CMD ["--help"]
