#include "bench/text/corpus.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

namespace gpu_engine::bench {
namespace {

constexpr double k1 = 1.2;

// Calls work(i) for i below `count`, on all processors.
template <typename Work>
void for_all(std::size_t count, const Work &work) {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
        threads.emplace_back([&] {
            for (std::size_t item = next++; item < count; item = next++) {
                work(item);
            }
        });
    }
}

}  // namespace

std::vector<TextPosting> make_list(std::uint64_t seed, std::uint32_t documents, std::uint32_t count) {
    constexpr std::uint32_t burst = 64;
    constexpr double spread = 0.7;
    std::mt19937_64 random(seed);
    std::normal_distribution<double> factor(-spread * spread / 2, spread);
    std::vector<TextPosting> list;
    list.reserve(count + count / 8);
    const double mean = static_cast<double>(documents) / count - 1;
    double scale = 0;
    for (std::uint64_t at = 0; at < documents; ++at) {
        if (list.size() % burst == 0) {
            const double here = std::max(mean * std::exp(factor(random)), 1e-3);
            scale = 1 / std::log1p(1 / here);
        }
        const double uniform = static_cast<double>((random() >> 11) + 1) * 0x1p-53;
        at += static_cast<std::uint64_t>(-std::log(uniform) * scale);
        if (at >= documents) {
            break;
        }
        // Two of three postings have frequency 1.
        const auto bits = static_cast<std::uint32_t>(random());
        const std::uint32_t frequency =
            bits % 3 != 0 ? 1 : 2 + static_cast<std::uint32_t>(std::countr_zero(bits | 1U << 12));
        list.push_back({static_cast<std::uint32_t>(at), frequency});
    }
    if (list.empty()) {
        list.push_back({0, 1});
    }
    return list;
}

Lists make_lists(postings::Codec codec, std::uint32_t documents, const std::vector<std::uint32_t> &counts,
                 const postings::Norms &norms, const std::uint32_t *lengths) {
    std::vector<std::vector<std::uint8_t>> sections(counts.size());
    Lists result = {codec, documents, {}, std::vector<TextList>(counts.size())};
    for_all(counts.size(), [&](std::size_t i) {
        const std::vector<TextPosting> list = make_list(i + 1, documents, counts[i]);
        result.lists[i] = append_text_list(codec, list.data(), static_cast<std::uint32_t>(list.size()), norms,
                                           lengths, &sections[i]);
    });
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        result.lists[i].offset = bytes;
        bytes += sections[i].size();
    }
    result.section.resize(bytes);
    for_all(counts.size(), [&](std::size_t i) {
        std::memcpy(result.section.data() + result.lists[i].offset, sections[i].data(), sections[i].size());
    });
    return result;
}

std::vector<std::uint32_t> make_lengths(std::uint32_t documents, std::uint32_t mean) {
    constexpr double spread = 0.6;
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> length(std::log(mean) - spread * spread / 2, spread);
    std::vector<std::uint32_t> lengths(documents);
    for (std::uint32_t &one : lengths) {
        one = 1 + static_cast<std::uint32_t>(std::min(length(random), 1e6));
    }
    return lengths;
}

Status load_corpus(Engine &engine, Stream &stream, const Lists &lists,
                   const std::vector<std::uint32_t> &lengths, std::unique_ptr<TextIndex> *index) {
    constexpr std::uint32_t page_bytes = 8192;
    constexpr std::uint32_t first_byte = 24;
    constexpr std::uint32_t content_bytes = 8152;
    constexpr std::uint32_t a_page = content_bytes / text_document_bytes;
    constexpr std::size_t piece = 4096;  // pages
    std::unique_ptr<TextLoader> loader;
    Status status = engine.text().open_loader(stream, lists.shape(), &loader);
    std::vector<char> pages(piece * page_bytes);
    const auto images = [&](std::size_t count) {
        return TextPages{pages.data(), static_cast<std::uint32_t>(count), page_bytes, first_byte,
                         content_bytes};
    };
    for (std::size_t at = 0; status.ok() && at < lists.section.size(); at += piece * content_bytes) {
        const std::size_t bytes = std::min(piece * content_bytes, lists.section.size() - at);
        const std::size_t count = (bytes + content_bytes - 1) / content_bytes;
        for_all(count, [&](std::size_t i) {
            std::memcpy(pages.data() + i * page_bytes + first_byte,
                        lists.section.data() + at + i * content_bytes,
                        std::min<std::size_t>(content_bytes, bytes - i * content_bytes));
        });
        status = loader->append_postings(stream, images(count));
    }
    for (std::size_t at = 0; status.ok() && at < lists.documents; at += piece * a_page) {
        const std::size_t documents = std::min<std::size_t>(piece * a_page, lists.documents - at);
        const std::size_t count = (documents + a_page - 1) / a_page;
        for_all(count, [&](std::size_t i) {
            const std::size_t first = at + i * a_page;
            const std::size_t here = std::min<std::size_t>(a_page, documents - i * a_page);
            char *content = pages.data() + i * page_bytes + first_byte;
            for (std::size_t j = 0; j < here; ++j) {
                const std::size_t block = (first + j) / 20;
                const Tid tid = {static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
                                 static_cast<std::uint16_t>((first + j) % 20 + 1)};
                std::memcpy(content + j * sizeof(Tid), &tid, sizeof(Tid));
                std::memcpy(content + here * sizeof(Tid) + j * text_length_bytes, &lengths[first + j],
                            text_length_bytes);
            }
        });
        status = loader->append_documents(stream, images(count));
    }
    return status.ok() ? loader->finish(stream, index) : status;
}

Queries make_queries(const Lists &lists, std::uint32_t count, TextMode mode, std::uint32_t k,
                     std::uint32_t lists_a_query) {
    std::mt19937_64 random(11);
    std::discrete_distribution<std::uint32_t> sizes({0, 0, 40, 30, 20, 10});
    Queries result;
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto first = static_cast<std::uint32_t>(result.terms.size());
        const std::uint32_t size = lists_a_query > 0 ? lists_a_query : sizes(random);
        std::vector<std::size_t> chosen;
        while (chosen.size() < size) {
            const std::size_t list = random() % lists.lists.size();
            if (std::find(chosen.begin(), chosen.end(), list) == chosen.end()) {
                chosen.push_back(list);
            }
        }
        for (const std::size_t list : chosen) {
            const double frequency = lists.lists[list].documents;
            const double idf = std::log(1 + (lists.documents - frequency + 0.5) / (frequency + 0.5));
            result.terms.push_back({lists.lists[list], idf * (k1 + 1) / postings::kScoreUnit, 0, 1});
        }
        result.queries.push_back({first, size, mode, k, 0, 0, 0, {}, 0});
    }
    return result;
}

}  // namespace gpu_engine::bench
