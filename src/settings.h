// Settings (GUCs) and what they mean for a session.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

enum class Path : int { Auto, Paged, Host, Cuda };

void define_settings();

// May the planner use count scans?
bool count_scan_enabled();

// And lookup joins?
bool lookup_join_enabled();

// When pg_gpu.path names a path that does not exist here: one NOTICE a session that the paged path answers.
void announce_forced_path();

}  // namespace pg_gpu
