#include "kary/mirror.h"

namespace pg_gpu::kary {

// Fewer points are answered from pages, unless pg_gpu.path says otherwise: a request's way there and back
// alone takes longer.
static constexpr uint32 kFewestPoints = 512;

// ---- the mirror's format ----------------------------------------------------------------------------------

template <typename Key>
const client::MirrorFormat *mirror_format() {
    static constexpr KaryMirror format = {
        {&kary_mirror, static_cast<int>(sizeof(ServerKey<Key>) * 8), keyed_entries},
        sizeof(Key),
        kLeafCapacity<Key>};
    return &format;
}

const client::MirrorFormat *mirror_format(Relation index) {
    return with_key_type(key_width(index), [](auto key) { return mirror_format<decltype(key)>(); });
}

// ---- choosing ---------------------------------------------------------------------------------------------

template <typename Key>
bool is_worth_counting(const Condition<Key> &condition) {
    return !condition.nothing && condition.has_points && condition.point_count >= kFewestPoints;
}

template <typename Key>
bool may_travel(const Condition<Key> &condition) {
    return !condition.nothing &&
           may_use_server(condition.has_points ? condition.point_count : 1, kFewestPoints);
}

#define INSTANTIATE(Key)                                       \
    template const client::MirrorFormat *mirror_format<Key>(); \
    template bool is_worth_counting(const Condition<Key> &);   \
    template bool may_travel(const Condition<Key> &);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

}  // namespace pg_gpu::kary
