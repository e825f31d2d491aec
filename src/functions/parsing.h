// PostgreSQL's parser, for filters. As a system header, for the same reason as postgres_headers.h.
#pragma once
#pragma GCC system_header

#include "postgres_headers.h"

extern "C" {
#include "optimizer/prep.h"
#include "parser/parse_clause.h"
#include "parser/parse_collate.h"
#include "parser/parse_node.h"
#include "parser/parse_param.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
}
