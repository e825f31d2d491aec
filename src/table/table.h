// The room's header: the table below an index. The visibility map, facts about blocks, or the rows themselves
// say which rows a snapshot sees; besides there are counts of them, and the steps of CREATE INDEX and of
// gpu.verify.
#pragma once

#include "table/block_facts.h"
#include "table/build.h"
#include "table/entry_counter.h"
#include "table/lookup.h"
#include "table/rounds.h"
#include "table/row_set.h"
#include "table/row_visibility.h"
#include "table/server_count.h"
#include "table/shared_facts.h"
#include "table/verify.h"
#include "table/visibility.h"
#include "table/visible_count.h"
