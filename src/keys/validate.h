// The access methods' amvalidate and amadjustmembers share these functions.
#pragma once

#include "keys/column.h"

namespace pg_gpu::keys {

struct Validation {
    const char *access_method;
    const char *family;
    bool valid;
};

// Reports what is wrong with a family as INFO and notes that it isn't sound. A format goes on from "operator
// family "name" of access method name".
void complain(Validation *state, const char *format, ...) pg_attribute_printf(2, 3);

// May a family have support functions?
enum class Functions : bool { None, Some };

// Reads an opclass and its family for `check`, and looks at what is the same for all access methods.
bool validate_opclass(Oid opclass, const char *access_method,
                      void (*check)(Validation *state, Oid type, CatCList *operators, CatCList *functions),
                      Functions may_have = Functions::None);

inline const FormData_pg_amop *member_at(CatCList *operators, int i) {
    return reinterpret_cast<const FormData_pg_amop *>(GETSTRUCT(&operators->members[i]->tuple));
}

// Returns the strategy number that an access method gives the operator where its default opclass is for this
// type; 0 when it has none.
int strategy_elsewhere(Oid operator_oid, Oid type, Oid access_method);

// Checks that the operator is for searching.
void validate_search_operator(Validation *state, const FormData_pg_amop *member);

// Checks an operator on codes that tell the value: it must be that of btree's default opclass, under btree's
// number.
void validate_exact_operator(Validation *state, const FormData_pg_amop *member);

// Checks that all pairs of types of such a family have all operators, the opclass's own type among them.
void validate_exact_groups(Validation *state, CatCList *operators, CatCList *functions, Oid type);

void complain_of_missing_operators(Validation *state, Oid type);
void complain_of_strategy(Validation *state, const FormData_pg_amop *member);

// Does what amadjustmembers does for btree: operators on one type are part of its opclass, those between
// types may come and go in the family.
void adjust_members(Oid family, Oid opclass, List *operators, List *functions);

}  // namespace pg_gpu::keys
