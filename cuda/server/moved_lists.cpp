#include "server/moved_lists.h"

#include <algorithm>
#include <cstring>

#include "server/scratch.h"
#include "server/server.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

// Pages as a loader takes them, which hold nothing else.
constexpr std::uint32_t posting_page_bytes = 65536;
constexpr std::uint64_t posting_pages_a_piece = 512;
constexpr std::uint32_t length_bytes = 3;
constexpr std::uint32_t documents_a_page = 7281;
constexpr std::uint32_t document_page_bytes = documents_a_page * (sizeof(Tid) + length_bytes);
constexpr std::uint32_t document_pages_a_piece = 128;
static_assert(document_page_bytes <= posting_page_bytes);

std::uint32_t pages_for(std::uint64_t parts, std::uint64_t a_page) {
    return static_cast<std::uint32_t>((parts + a_page - 1) / a_page);
}

// Writes documents as they lie on pages.
void write_pages(const Tid *tids, const std::uint32_t *lengths, std::uint32_t count, char *pages) {
    for (std::uint32_t first = 0; first < count; first += documents_a_page, pages += document_page_bytes) {
        const std::uint32_t here = std::min(documents_a_page, count - first);
        std::memcpy(pages, tids + first, here * sizeof(Tid));
        auto *at = reinterpret_cast<unsigned char *>(pages + here * sizeof(Tid));
        for (std::uint32_t i = first; i < first + here; ++i, at += length_bytes) {
            at[0] = static_cast<unsigned char>(lengths[i]);
            at[1] = static_cast<unsigned char>(lengths[i] >> 8);
            at[2] = static_cast<unsigned char>(lengths[i] >> 16);
        }
    }
}

}  // namespace

MemoryBudget &MovedLists::memory() const {
    return target_.server().engines().host().memory();
}

std::unique_ptr<TextIndex> MovedLists::copy(const TextIndex &index, std::uint64_t *dead_version) {
    std::unique_ptr<TextLoader> loader;
    on_engine_(target_,
               [&] { check(target_.engine->text().open_loader(*target_.stream, index.shape(), &loader)); });
    copy_postings(index, loader.get());
    copy_documents(index, loader.get());
    // Last, so that as many dead documents are known as can be.
    const Scratch<std::uint64_t> dead(memory(), (std::uint64_t(index.shape().documents) + 63) / 64);
    on_engine_(source_, [&] { check(index.read_dead(*source_.stream, dead.data(), dead_version)); });
    std::unique_ptr<TextIndex> copy;
    on_engine_(target_, [&] {
        check(loader->finish(*target_.stream, &copy));
        check(copy->set_dead(*target_.stream, dead.data(), *dead_version));
    });
    return copy;
}

void MovedLists::copy_postings(const TextIndex &index, TextLoader *loader) {
    const std::uint64_t all = index.shape().posting_bytes;
    const std::uint64_t piece = std::min(all, posting_pages_a_piece * posting_page_bytes);
    const Scratch<char> bytes(memory(), piece);
    for (std::uint64_t first = 0; first < all; first += piece) {
        const std::uint64_t count = std::min(piece, all - first);
        on_engine_(source_, [&] { check(index.read_postings(*source_.stream, first, count, bytes.data())); });
        on_engine_(target_, [&] {
            check(
                loader->append_postings(*target_.stream, {bytes.data(), pages_for(count, posting_page_bytes),
                                                          posting_page_bytes, 0, posting_page_bytes}));
        });
    }
}

void MovedLists::copy_documents(const TextIndex &index, TextLoader *loader) {
    const std::uint32_t all = index.shape().documents;
    const std::uint32_t piece = std::min(all, document_pages_a_piece * documents_a_page);
    const Scratch<Tid> tids(memory(), piece);
    const Scratch<std::uint32_t> lengths(memory(), piece);
    // Whole pages, also of the last one.
    const Scratch<char> pages(memory(),
                              std::uint64_t(pages_for(piece, documents_a_page)) * document_page_bytes);
    for (std::uint64_t first = 0; first < all; first += piece) {
        const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(piece, all - first));
        on_engine_(source_, [&] {
            check(index.read_documents(*source_.stream, static_cast<std::uint32_t>(first), count, tids.data(),
                                       lengths.data()));
        });
        write_pages(tids.data(), lengths.data(), count, pages.data());
        on_engine_(target_, [&] {
            check(loader->append_documents(*target_.stream, {pages.data(), pages_for(count, documents_a_page),
                                                             document_page_bytes, 0, document_page_bytes}));
        });
    }
}

}  // namespace gpu_engine::server
