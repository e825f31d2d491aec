#include "client/gone_mirrors.h"

#include "client/inventory.h"
#include "compat.h"

namespace pg_gpu::client {

// Indexes of other databases can't be looked up from here, nor other sessions' temporary ones.
static bool is_gone(const protocol::RunName &name) {
    if (name.backend != -1)
        return !is_backend_alive(name.backend);
    if (name.database == MyDatabaseId)
        return !OidIsValid(relation_at({name.tablespace, name.database, name.relation}));
    return !SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(name.database));
}

void drop_gone_mirrors() {
    Inventory<protocol::MirrorRow> mirrors;
    list_mirrors(&mirrors);
    for (uint64 i = 0; i < mirrors.count; i++) {
        if (!is_gone(mirrors.rows[i].name))
            continue;
        auto message = make_message<protocol::Evict>(protocol::Message::evict, Path::Host);
        message.name = mirrors.rows[i].name;
        protocol::EvictReply reply;
        if (!is_connected() || !exchange(&message, &reply))
            break;
    }
    if (mirrors.rows != nullptr)
        pfree(mirrors.rows);
}

}  // namespace pg_gpu::client
