// Requests: not there yet, the paged path answers.
#include "client/client.h"

namespace pg_gpu::client {

Path choose_path(const Request &) {
    return Path::Paged;
}

double estimate_microseconds(const Request &, Path) {
    return 0;
}

void count_paged(RequestKind, uint64, double) {}

bool lookup(const RunSet &, Path, const void *, uint64, EntriesAnswer *) {
    return false;
}

bool range(const RunSet &, Path, const void *, const void *, uint64, EntriesAnswer *) {
    return false;
}

bool range_with_keys(const RunSet &, Path, const void *, const void *, EntriesAnswer *) {
    return false;
}

bool count(const RunSet &, Path, const void *, const void *, uint64, const VisibleBlocks &, CountAnswer *) {
    return false;
}

bool begin_sort(Path, int, uint64, ServerArray *) {
    return false;
}

bool append_to_sort(ServerArray *, const void *, const ItemPointerData *, uint64) {
    return false;
}

bool finish_sort(ServerArray *) {
    return false;
}

bool merge(const RunSet &, Path, ServerArray *) {
    return false;
}

bool read_entries(const ServerArray &, uint64, uint64, const void **, const ItemPointerData **, uint64 *) {
    return false;
}

void name_array(ServerArray *, const RunSet &, const storage::RunEntry &) {}

void drop_array(ServerArray *) {}

void forget_run(Relation, const storage::RunEntry &) {}

}  // namespace pg_gpu::client
