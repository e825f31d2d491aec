// The room's header: an index's file. Metapage, tail and runs (runs.h), sealed tails, dead bitmaps,
// merges and VACUUM, statistics and damage, shared by all access methods. The rules it keeps are in README.md
// beside this file.
#pragma once

#include "storage/damage.h"
#include "storage/dead_bits.h"
#include "storage/hypothetical.h"
#include "storage/index_routine.h"
#include "storage/index_statistics.h"
#include "storage/merge.h"
#include "storage/merge_choice.h"
#include "storage/merge_requests.h"
#include "storage/nearby_buffer.h"
#include "storage/notes.h"
#include "storage/deferred_merges.h"
#include "storage/runs.h"
#include "storage/sealed_tail.h"
#include "storage/pending_rows.h"
#include "storage/waiting.h"
