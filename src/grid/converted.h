// Types that aren't known here, whose values functions of their operator class turn into points: PostGIS's
// geometry. Nothing of how such a type is laid out is taken for granted.
#pragma once

#include "grid/format.h"

namespace pg_gpu::grid {

// The support functions of such a class. Both are strict, and return NULL for a value that lies nowhere, as
// an empty geometry does.
inline constexpr int kPointFunction = 1;  // makes the point of an indexed value
inline constexpr int kBoxFunction = 2;    // makes the box around a value that an indexed one is compared with

// Its strategies are those of R-trees (access/stratnum.h) with this added, and two distances: to the value,
// and to the box around it.
inline constexpr StrategyNumber kConvertedStrategies = 15;
inline constexpr StrategyNumber kConvertedDistance = kConvertedStrategies + 13;
inline constexpr StrategyNumber kConvertedBoxDistance = kConvertedStrategies + 14;

struct Conversion {
    FmgrInfo to_point;
    FmgrInfo to_box;
};

// Says whether an operator class for the type needs these functions.
bool is_converted(Oid type);

// Returns the conversion of an index's column, which is kept for the session. Raises an ERROR where its
// operator class lacks a function.
Conversion *make_conversion(Relation index, int column);

// Makes the point of an indexed value. Returns false where it lies nowhere; raises an ERROR where it isn't a
// point, or has a coordinate that is NaN.
bool make_point(const Column &column, Datum value, Point *point);

// Makes the box around a value. Returns false where it lies nowhere. Its bounds may be NaN.
bool make_box(const Column &column, Datum value, BOX *box);

// The highest and the lowest coordinate of a point whose box may reach a bound, which is not NaN. Such types
// keep boxes in single precision, rounded outwards, and what is beyond that is at its end.
double widened_up(double bound);
double widened_down(double bound);

}  // namespace pg_gpu::grid
