// These helpers look at expression trees.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

// Returns the tree below casts between binary-compatible types, which change no value. nullptr stays nullptr.
template <typename Tree>
Tree *without_relabels(Tree *tree) {
    while (tree != nullptr && IsA(tree, RelabelType))
        tree = reinterpret_cast<Tree *>(reinterpret_cast<const RelabelType *>(tree)->arg);
    return tree;
}

// Reads function and arguments of a call, or of an operator. Returns false when the tree is neither.
template <typename Tree>
bool read_call(Tree *tree, Oid *function, List **arguments) {
    if (IsA(tree, OpExpr)) {
        *function = reinterpret_cast<const OpExpr *>(tree)->opfuncid;
        *arguments = reinterpret_cast<const OpExpr *>(tree)->args;
        return true;
    }
    if (!IsA(tree, FuncExpr))
        return false;
    *function = reinterpret_cast<const FuncExpr *>(tree)->funcid;
    *arguments = reinterpret_cast<const FuncExpr *>(tree)->args;
    return true;
}

}  // namespace pg_gpu
