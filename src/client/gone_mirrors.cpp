#include "client/gone_mirrors.h"

#include "client/inventory.h"
#include "compat.h"

namespace pg_gpu::client {

uint32 database_incarnation(Oid database) {
    HeapTuple row = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(database));
    if (!HeapTupleIsValid(row))
        return InvalidTransactionId;
    const TransactionId writer = HeapTupleHeaderGetRawXmin(row->t_data);
    ReleaseSysCache(row);
    return writer;
}

bool is_of_this_database(const protocol::RunName &name) {
    return name.database == MyDatabaseId && name.incarnation == database_incarnation(MyDatabaseId);
}

// Indexes of other databases can't be looked up from here, nor other sessions' temporary ones.
static bool is_gone(const protocol::RunName &name) {
    if (name.incarnation != database_incarnation(name.database))
        return true;
    if (name.backend != -1)
        return !is_backend_alive(name.backend);
    return name.database == MyDatabaseId &&
           !OidIsValid(relation_at({name.tablespace, name.database, name.relation}));
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
