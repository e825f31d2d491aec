#include "test_hooks.h"

namespace pg_gpu {

static void **place = nullptr;

void find_test_hooks() {
    place = find_rendezvous_variable(kTestHooks);
}

const TestHooks *test_hooks() {
    return static_cast<const TestHooks *>(*place);
}

}  // namespace pg_gpu
