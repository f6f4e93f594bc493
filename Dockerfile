# One image for all three roles: the API (default), the worker (src/worker.ts) and the migration (src/migrate.ts).
# The server has no build step: Node runs its TypeScript by stripping the types. The app that it serves is built.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/contract/package.json packages/contract/
COPY packages/server/package.json packages/server/
# Optional packages are left out too: they bring a Node of their own, and the image has one.
RUN npm ci --ignore-scripts --omit=dev --omit=optional

FROM node:24-bookworm-slim AS app
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.base.json ./
COPY packages/sdk/package.json packages/sdk/
COPY packages/web/package.json packages/web/
RUN npm ci --ignore-scripts --workspace packages/web
COPY packages/sdk/src packages/sdk/src
COPY packages/web packages/web
RUN node packages/web/build.ts --check

FROM node:24-bookworm-slim
ENV NODE_ENV=production \
    HOST=0.0.0.0
WORKDIR /app
# git and certificates: for skills from repositories. bubblewrap, bash, python3: where workers run skills.
RUN apt-get update \
  && apt-get install -y --no-install-recommends bash bubblewrap ca-certificates git python3 \
  && rm -rf /var/lib/apt/lists/*
COPY LICENSE package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY packages/contract/package.json packages/contract/
COPY packages/contract/src packages/contract/src
COPY packages/server/package.json packages/server/
COPY packages/server/migrations packages/server/migrations
COPY packages/server/src packages/server/src
COPY --from=app /app/packages/web/dist packages/web/dist
COPY catalog catalog
# A new volume mounted here takes over the owner.
RUN install -d -o node -g node -m 0750 /var/lib/guildhall/blobs
# Root owns the files, so the process cannot change its own code.
USER node
# The API's port and the worker's.
EXPOSE 8080 9080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "packages/server/src/main.ts"]
