#include "cost/quarantine.h"

#include "rpc/rpc.h"
#include "supervisor/supervisor.h"

namespace pg_gpu::client {

static protocol::Subject subject_of(const Request &request) {
    return {MyDatabaseId, request.index, static_cast<uint32>(request.kind), request.shape};
}

bool is_in_quarantine(const Request &request, Path path) {
    Quarantine quarantine;
    if (!find_quarantine(subject_of(request), path, &quarantine))
        return false;
    if (!quarantine.is_reported) {
        const char *kind = request_name(request.kind);
        const char *index = OidIsValid(request.index) ? get_rel_name(request.index) : nullptr;
        ereport(LOG,
                (index != nullptr ? errmsg("requests \"%s\" to index \"%s\" are kept from path %s for %d s",
                                           kind, index, path_name(path), quarantine.seconds)
                                  : errmsg("requests \"%s\" are kept from path %s for %d s", kind,
                                           path_name(path), quarantine.seconds),
                 errdetail("The server process ended by one: %s.", describe_end(quarantine.status))));
    }
    return true;
}

void note_requested(const Request &request) {
    set_subject(subject_of(request));
}

void note_survived(RequestKind kind, Path path) {
    if (current_subject().kind == static_cast<uint32>(kind))
        end_quarantine(current_subject(), path);
}

}  // namespace pg_gpu::client
