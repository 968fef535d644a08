# SPDX-License-Identifier: Apache-2.0
# Two images: `envoy` is the official Envoy with what `init envoy` writes, `lab` runs the mock GPU and the replay.
FROM node:22-bookworm-slim AS lab
WORKDIR /app
RUN chown node:node /app
USER node
COPY --chown=node:node . .
# Installs the dependencies, bundles the command line and compiles the filter.
RUN node cli/smetric-envoy.mjs build
# The recommended bootstrap (envoy/pin.yaml) with a listener that lets Prometheus read the counters, and the module.
RUN node cli/smetric-envoy.mjs init envoy --out gateway --service mock-gpu --port 8000
ENTRYPOINT ["node", "cli/smetric-envoy.mjs"]

FROM envoyproxy/envoy:v1.40.0 AS envoy
COPY --from=lab --chmod=644 /app/gateway/smetric.wasm /app/gateway/envoy.yaml /etc/envoy/
