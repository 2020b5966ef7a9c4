# The images of csis.
#
#   slim      the static binary, git for https and certificates; no engine
#   full      slim with OpenTofu, Packer and the session-manager plugin, as tools.lock pins them
#   ansible   full with python, ansible-core, bash and an ssh client, for trees that bake with playbooks
#
# The last stage is what `image: Dockerfile` of action.yml builds. A release sets RUST, DEBIAN and ANSIBLE to digests and publishes the images by digest; a tag
# alone is what was served today. No image sets USER or WORKDIR: the workspace and its owner are the runner's, and csis gives its children another user itself.
ARG RUST=rust:1.95-slim-bookworm
ARG DEBIAN=debian:bookworm-slim
# Newer than the rest: playbooks ask for an ansible-core that bookworm does not have.
ARG ANSIBLE=debian:trixie-slim

FROM ${RUST} AS build
WORKDIR /src
COPY . .
RUN ["sh", "scripts/image/binary", "/out/usr/local/bin/csis"]

FROM ${DEBIAN} AS rootfs
WORKDIR /src
COPY . .
RUN ["sh", "scripts/image/rootfs", "/out"]

FROM scratch AS slim
COPY --from=rootfs /out/ /
COPY --from=build /out/ /
ENV PATH=/usr/local/bin:/usr/bin
ENTRYPOINT ["/usr/local/bin/csis", "action"]

FROM ${DEBIAN} AS tools
RUN apt-get update -qq && apt-get install -qq --no-install-recommends ca-certificates curl unzip
WORKDIR /src
COPY tools.lock ./
COPY scripts/image/tools scripts/image/tools
RUN sh scripts/image/tools "linux_$(dpkg --print-architecture)" /out/usr/local/bin

FROM ${ANSIBLE} AS ansible
RUN apt-get update -qq \
 && apt-get install -qq --no-install-recommends ansible-core bash ca-certificates git openssh-client python3 \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 csis-engine \
 && useradd --uid 10001 --gid 10001 --home-dir /nonexistent --no-create-home --shell /usr/sbin/nologin csis-engine
COPY --from=tools /out/ /
COPY --from=build /out/ /
ENTRYPOINT ["/usr/local/bin/csis", "action"]

FROM slim AS full
COPY --from=tools /out/ /
