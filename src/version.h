// The library's version and that of the extension's SQL objects, which a database keeps until it is updated.
#pragma once

namespace pg_gpu {

// The SQL functions call it. Raises an error when the objects that CREATE EXTENSION made in this database are
// of another version than this library. Access methods don't call it: indexes go on working in between, and
// what lies on disk has a version of its own (storage/format.h).
void require_matching_objects();

}  // namespace pg_gpu
