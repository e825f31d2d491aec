// The parts of gpu_text that functions and plan nodes use.
#pragma once

#include "text/batch_terms.h"
#include "text/bm25.h"
#include "text/configuration.h"
#include "text/configuration_names.h"
#include "text/corpus.h"
#include "text/mirror.h"
#include "text/operators.h"
#include "text/options.h"
#include "text/planned.h"
#include "text/request.h"
#include "text/rows.h"
#include "text/search.h"
#include "text/text.h"
#include "text/tsearch.h"
