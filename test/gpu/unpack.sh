# Sourced by the scripts beside it: unpacks the bundle's programs, once.
# shellcheck shell=bash disable=SC2154
if [ ! -d "$bundle/bin" ] && [ -e "$bundle/bin.tar.xz" ]; then
    tar -C "$bundle" -xJf "$bundle/bin.tar.xz"
fi
