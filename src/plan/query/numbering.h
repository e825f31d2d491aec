// Values of types that the engine doesn't compute with, texts above all, are numbers there. A numbering is of
// all values of a statement that are equal by one operator and collation, whichever columns, expressions and
// constants they come from: equal values have the same number. Where their order is wanted, numbers have it,
// too.
//
// Which numberings there are is compiled. Numbers are given in the executor, while a scan's columns are made.
#pragma once

#include "plan/query/expression.h"

namespace pg_gpu::plan::query {

// ---- compiling --------------------------------------------------------------------------------------------

// The numbering of values of a type; no_numbering, with a refusal, if they can't be told apart by a hash.
uint16 find_numbering(Compiler *compiler, Oid type, Oid collation);
// A new one, which nothing else finds; no_numbering: there are too many.
uint16 add_own_numbering(Compiler *compiler, Oid type, Oid collation);

// Are values of a type integers of the index, which need no numbering?
bool is_coded(Oid type);

// A constant that isn't NULL, or, with nullptr, any.
Value value_of_numbered(Compiler *compiler, Oid type, Oid collation, const Const *constant);

// Gives a constant the numbering of a value that it meets, whose collation it then has. False: it isn't one.
bool take_numbering(Compiler *compiler, Value *constant, const Value &value);

// Makes the order of a value's numbers that of SQL by the type's own operators. The numbers of an enum's
// labels are ranked for that, by a step more, so that the value has other ones. False, with a refusal: it
// can't be.
bool order_numbers(Compiler *compiler, Value *value, Oid collation);

// Is that so?
bool has_order(const Program &program, const Value &value, Oid collation);

// Does an operator compare such values as their numbers do? `strategy` is what it is.
bool is_own_comparison(const Program &program, const Value &value, int strategy, Oid operator_oid,
                       Oid collation);

// ---- executing --------------------------------------------------------------------------------------------

// Is the numbering of one column's values alone?
bool is_of_one_source(const Program &program, uint16 numbering);

// The session holds no more bytes of values that are numbered: not work_mem decides, but what a server can
// bear of a session.
inline constexpr size_t kNumberMemory = size_t{256} << 20;
inline constexpr const char *kNoRoomForNumbers = "a session has no room for so many different values";

// Begins to give numbers, except by code. In the program's memory context.
void begin_numbers(Program *program);

// The number of a value; kNoValue: there is no room.
uint32 number_of(Numbering *numbering, Datum value);

// Orders what is to be ordered, and tells the constants' numbers. Numbers that were given are to be replaced
// by final_number.
void finish_numbers(Program *program);
inline uint64 final_number(const Numbering &numbering, uint64 number) {
    if (numbering.own_numbers != nullptr && number < numbering.values->count)
        return numbering.own_numbers[number];
    return numbering.ranks == nullptr || number >= numbering.values->count ? number : numbering.ranks[number];
}

Datum value_of_number(const Numbering &numbering, uint64 number);

}  // namespace pg_gpu::plan::query
