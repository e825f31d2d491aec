// Dead documents, document frequencies and intersections.
#include "host/text/index.h"

#include <vector>

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/text/list.h"

namespace gpu_engine::host {

std::uint64_t HostTextIndex::bytes() const noexcept {
    return parts_.postings.bytes() + parts_.lengths.bytes() + parts_.tids.bytes() + dead_bytes();
}

Status HostTextIndex::count_documents(Stream &stream, const TextList *lists, std::uint32_t count,
                                      std::uint32_t *documents) const noexcept {
    return guarded([&] {
        const std::vector<TextList> requested(lists, lists + count);
        const auto dead = this->dead();
        engine_.workers(stream).for_pieces(count, 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; ++i) {
                require_ok(check_text_list(parts_.shape, requested[i]));
                std::uint32_t live = requested[i].documents;
                if (dead) {
                    const List list(parts_, requested[i]);
                    Cursor cursor(list);
                    for (std::uint32_t block = 0; cursor.load(block); ++block) {
                        check_cancelled(stream);
                        for (std::uint32_t at = 0; at < cursor.count(); ++at) {
                            live -= dead->is_dead(cursor.ordinal(at)) ? 1 : 0;
                        }
                    }
                }
                documents[i] = live;
            }
        });
        return Status{};
    });
}

Status HostTextIndex::intersect(Stream &stream, const TextList *lists, std::uint32_t count, Tid *tids,
                                std::uint64_t capacity, std::uint64_t *found) const noexcept {
    return guarded([&] {
        if (count == 0 || count > max_text_terms) {
            return make_status(StatusCode::invalid_argument, "an intersection takes 1 to 1024 lists");
        }
        const std::vector<TextList> requested(lists, lists + count);
        std::vector<List> opened;
        for (const TextList &list : requested) {
            require_ok(check_text_list(parts_.shape, list));
            opened.emplace_back(parts_, list);
        }
        std::sort(opened.begin(), opened.end(),
                  [](const List &a, const List &b) { return a.documents() < b.documents(); });
        const auto dead = this->dead();
        // The shortest list's blocks are looked at in pieces. Each piece has places of its own for the
        // members that it finds, behind those of the pieces before.
        constexpr std::uint64_t blocks_a_piece = 64;
        const std::uint64_t pieces = (opened[0].blocks() + blocks_a_piece - 1) / blocks_a_piece;
        Buffer<std::uint32_t> members(engine_.memory(), opened[0].documents());
        std::vector<std::uint32_t> counts(pieces);
        constexpr std::uint64_t a_piece = blocks_a_piece * postings::kBlockPostings;
        engine_.workers(stream).for_pieces(pieces, 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t piece = first; piece < last; ++piece) {
                std::vector<Cursor> cursors(opened.begin(), opened.end());
                std::uint32_t *out = members.data() + piece * a_piece;
                std::uint32_t kept = 0;
                const std::uint64_t end =
                    std::min<std::uint64_t>((piece + 1) * blocks_a_piece, opened[0].blocks());
                for (std::uint64_t block = piece * blocks_a_piece; block < end; ++block) {
                    cursors[0].load(static_cast<std::uint32_t>(block));
                    for (std::uint32_t at = 0; at < cursors[0].count(); ++at) {
                        const std::uint32_t ordinal = cursors[0].ordinal(at);
                        bool everywhere = !dead || !dead->is_dead(ordinal);
                        for (std::size_t i = 1; i < cursors.size() && everywhere; ++i) {
                            everywhere = cursors[i].seek(ordinal) && cursors[i].ordinal() == ordinal;
                        }
                        if (everywhere) {
                            out[kept++] = ordinal;
                        }
                    }
                }
                counts[piece] = kept;
            }
        });
        std::uint64_t all = 0;
        for (const std::uint32_t here : counts) {
            all += here;
        }
        *found = all;
        if (all > capacity) {
            return make_status(StatusCode::insufficient_space, "more documents than there is room for");
        }
        for (std::uint64_t piece = 0; piece < pieces; ++piece) {
            for (std::uint32_t i = 0; i < counts[piece]; ++i) {
                *tids++ = parts_.tids[members[piece * a_piece + i]];
            }
        }
        return Status{};
    });
}

}  // namespace gpu_engine::host
