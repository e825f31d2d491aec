// Text search configurations by the names that an index has for them. Its option and its metapage name a
// configuration, but configurations and schemas are renamed, and OIDs change with pg_upgrade. So for each
// name that the option has had, pg_depend has an entry by which the index depends on the configuration of
// that name: what the name means to the index, and what keeps the configuration from being dropped.
#pragma once

#include "storage/storage.h"

namespace pg_gpu::text {

// Returns the configuration that a user names, or raises an error. A name without a schema is looked for in
// pg_catalog alone: an index must mean the same under every search path, that of a restored dump, too.
Oid find_configuration(const char *name);

// Returns a hash of schema and name, for the metapage.
uint32 hash_configuration_name(const char *name);

// Returns the configuration that a name means to an index; InvalidOid if nothing has the name any more.
// is_recorded, where it isn't nullptr, says whether that stays so as long as the index's definition does.
Oid configuration_known_as(Oid index, const char *name, bool *is_recorded = nullptr);

// The same for a name of which only the hash is left; `option` is what the option has now.
Oid configuration_known_as(Relation index, uint32 hash, Oid option);

// Has entries made in pg_depend as indexes are created, and their options changed.
void follow_configuration_options();

}  // namespace pg_gpu::text
