// Keys of text: they ascend as the strings do, byte by byte, and patterns know what their matches begin with.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "kary/text_prefix.h"

using namespace pg_gpu::kary;

static pg_gpu::keys::Key128 key_of(const std::string &string, unsigned char fill = 0) {
    return prefix_key(string.data(), string.size(), fill);
}

// Strings of few different bytes, the lowest and the highest among them, whose lengths lie around the key's.
static std::vector<std::string> strings(int count, uint64_t seed) {
    std::mt19937_64 random(seed);
    const std::string bytes = "\x01 aab\x7f\x80\xff";
    std::vector<std::string> result = {"", "a", std::string(15, 'a'), std::string(16, 'a'),
                                       std::string(17, 'a')};
    for (int i = 0; i < count; i++) {
        std::string string(random() % 3 == 0 ? 14 : 0, 'a');
        for (size_t length = random() % 6; length > 0; length--)
            string += bytes[random() % bytes.size()];
        result.push_back(string);
    }
    return result;
}

TEST(TextPrefix, KeysAscendAsStrings) {
    for (const std::string &a : strings(300, 1)) {
        for (const std::string &b : strings(300, 2)) {
            const std::string first_a = a.substr(0, kPrefixBytes);
            const std::string first_b = b.substr(0, kPrefixBytes);
            // char_traits compares as unsigned bytes.
            ASSERT_EQ(key_of(a) < key_of(b), first_a < first_b) << a << ' ' << b;
            ASSERT_EQ(key_of(a) == key_of(b), first_a == first_b);
        }
    }
}

TEST(TextPrefix, StringsWithAPrefixLieBetweenItsKeys) {
    for (const std::string &prefix : strings(100, 3)) {
        for (const std::string &string : strings(200, 4)) {
            const bool begins = string.substr(0, kPrefixBytes).starts_with(prefix.substr(0, kPrefixBytes));
            const bool between = key_of(string) >= key_of(prefix) && key_of(string) <= key_of(prefix, 0xff);
            ASSERT_EQ(between, begins) << prefix << ' ' << string;
        }
    }
}

TEST(TextPrefix, BlanksAtTheEndAreLeftOut) {
    EXPECT_EQ(length_without_blanks("", 0), 0U);
    EXPECT_EQ(length_without_blanks("   ", 3), 0U);
    EXPECT_EQ(length_without_blanks(" a b  ", 6), 4U);
}

struct Pattern {
    std::string pattern;
    std::string prefix;
    bool is_whole;
};

TEST(TextPrefix, PatternsBeginLikeTheirMatches) {
    const std::vector<Pattern> patterns = {
        {"", "", true},
        {"abc", "abc", true},
        {"abc%", "abc", false},
        {"a_c", "a", false},
        {"%abc", "", false},
        {"_", "", false},
        {"a\\%b%", "a%b", false},
        {"a\\_b", "a_b", true},
        {"a\\\\", "a\\", true},
        {"a\\bc%", "abc", false},
        // An error when it is compared that far.
        {"ab\\", "ab", false},
        {"exactly 16 bytes", "exactly 16 bytes", true},
        {"exactly 16 bytes%", "exactly 16 bytes", false},
        {"exactly 16 bytes!", "exactly 16 bytes", false},
        {"exactly 16 byte\\s", "exactly 16 bytes", true},
        {"exactly 16 byte\\", "exactly 16 byte", false},
        {"exactly 15 byte_", "exactly 15 byte", false},
    };
    for (const Pattern &expected : patterns) {
        const LikePrefix prefix = like_prefix(expected.pattern.data(), expected.pattern.size());
        EXPECT_EQ(std::string(prefix.bytes, prefix.length), expected.prefix) << expected.pattern;
        EXPECT_EQ(prefix.is_whole, expected.is_whole) << expected.pattern;
    }
}
