# Sourced by the scripts beside it that run a benchmark program which knows both engines: run_benchmark PROGRAM NAME [options]
# shellcheck shell=bash
# shellcheck source=test/gpu/common.sh
. "$(dirname "$0")/common.sh"
run_benchmark() {
    local program=$bundle/bin/$1 name=$2 engine=cuda i
    shift 2
    if [ "${1:-}" = --help ]; then
        exec "$program" --help
    fi
    local options=("$@")
    for ((i = 0; i + 1 < ${#options[@]}; ++i)); do
        [ "${options[$i]}" != --engine ] || engine=${options[$((i + 1))]}
    done
    [ "$engine" = host ] || require_device
    mkdir -p "$results"
    exec "$program" --json "$results/$(date -u +%Y-%m-%d-%H%M%S)-$name-$engine.json" "$@"
}
