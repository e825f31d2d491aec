# Sourced by the scripts beside it: unpacks the bundle's programs, once.
# shellcheck shell=bash disable=SC2154
if compgen -G "$bundle/bin/*.xz" >/dev/null; then
    xz --decompress "$bundle"/bin/*.xz
fi
