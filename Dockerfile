# SPDX-License-Identifier: Apache-2.0
# Two images: `envoy` is the official Envoy with the filter and pin.yaml, `lab` runs the mock GPU and the replay.
FROM node:22-bookworm-slim AS lab
WORKDIR /app
RUN chown node:node /app
USER node
COPY --chown=node:node . .
# Installs the dependencies, bundles the command line and compiles the filter.
RUN node cli/smetric-envoy.mjs build
ENTRYPOINT ["node", "cli/smetric-envoy.mjs"]

FROM envoyproxy/envoy:v1.40.0 AS envoy
COPY --from=lab --chmod=644 /app/build/smetric.wasm /etc/envoy/smetric.wasm
COPY --chmod=644 envoy/pin.yaml /etc/envoy/envoy.yaml
