// What a greeting gives: the same keys to both sides, other ones every time, and nothing to anybody else.
#include "sockets/greeting.hpp"

#include "sockets/key_derivation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

namespace weft::sockets {
namespace {

class GreetingTest : public testing::Test {
 protected:
  GreetingTest() {
    prepare_greetings();
    complete(introduction_, Protection::authenticated);
    challenge_ = make_challenge(secret_, introduction_, Protection::authenticated);
  }

  const Key secret_{std::byte{7}};
  Introduction introduction_;
  Challenge challenge_;
};

TEST_F(GreetingTest, gives_both_sides_the_same_keys_and_each_direction_its_own) {
  const SessionKeys connector = keys_of_connector(secret_, introduction_, challenge_);
  const SessionKeys listener = keys_of_listener(secret_, introduction_, challenge_);
  EXPECT_EQ(connector.send, listener.receive);
  EXPECT_EQ(connector.receive, listener.send);
  EXPECT_NE(connector.send, connector.receive);
  EXPECT_EQ(connector.protection, Protection::authenticated);
  EXPECT_EQ(connector.uses_aes, has_aes());
}

TEST_F(GreetingTest, gives_other_keys_for_whatever_is_said_otherwise) {
  std::set<Key> keys{keys_of_connector(secret_, introduction_, challenge_).send};
  const auto expect_other = [&](Secret secret, const Introduction& said, const Challenge& answered) {
    EXPECT_TRUE(keys.insert(keys_of_connector(secret, said, answered).send).second);
  };
  expect_other(Key{std::byte{8}}, introduction_, challenge_);
  for (std::size_t byte = 0; byte < sizeof introduction_; ++byte) {
    Introduction said = introduction_;
    reinterpret_cast<std::byte*>(&said)[byte] ^= std::byte{1};
    expect_other(secret_, said, challenge_);
  }
  for (std::size_t byte = 0; byte < offsetof(Challenge, proof); ++byte) {
    Challenge answered = challenge_;
    reinterpret_cast<std::byte*>(&answered)[byte] ^= std::byte{1};
    expect_other(secret_, introduction_, answered);
  }
}

TEST_F(GreetingTest, proves_every_byte_that_was_said) {
  const Proof proof = proof_of_connector(secret_, introduction_, challenge_);
  EXPECT_FALSE(are_equal(proof, challenge_.proof));  // one side's proof is none of the other's
  for (std::size_t byte = 8; byte < sizeof introduction_; ++byte) {
    Introduction said = introduction_;
    reinterpret_cast<std::byte*>(&said)[byte] ^= std::byte{1};
    EXPECT_NE(fault_of(challenge_, secret_, said), "") << byte;
    EXPECT_FALSE(are_equal(proof, proof_of_connector(secret_, said, challenge_))) << byte;
  }
  for (std::size_t byte = 0; byte < sizeof challenge_; ++byte) {
    Challenge answered = challenge_;
    reinterpret_cast<std::byte*>(&answered)[byte] ^= std::byte{1};
    EXPECT_NE(fault_of(answered, secret_, introduction_), "") << byte;
  }
  EXPECT_EQ(fault_of(challenge_, secret_, introduction_), "");
}

TEST_F(GreetingTest, proves_the_answer) {
  const SessionKeys connector = keys_of_connector(secret_, introduction_, challenge_);
  const SessionKeys listener = keys_of_listener(secret_, introduction_, challenge_);
  for (const Verdict verdict : {Verdict::accepted, Verdict::yield}) {
    const Answer answer = make_answer(verdict, listener);
    EXPECT_TRUE(is_genuine(answer, connector));
    for (std::size_t byte = 0; byte < sizeof answer; ++byte) {
      Answer changed = answer;
      reinterpret_cast<std::byte*>(&changed)[byte] ^= std::byte{4};
      EXPECT_FALSE(is_genuine(changed, connector)) << byte;
    }
  }
}

TEST_F(GreetingTest, lets_two_without_a_secret_agree_on_one) {
  const KeyPair first = make_key_pair();
  const KeyPair second = make_key_pair();
  Key of_first;
  Key of_second;
  ASSERT_TRUE(agree(first, second.known_to_all, of_first));
  ASSERT_TRUE(agree(second, first.known_to_all, of_second));
  EXPECT_EQ(of_first, of_second);
  EXPECT_FALSE(agree(first, PublicKey{}, of_first)) << "with it everybody knows the result";
}

TEST_F(GreetingTest, unseals_only_what_was_sealed) {
  const std::array<std::byte, 40> text{std::byte{1}, std::byte{2}};
  std::array<std::byte, 56> sealed;
  seal_once(secret_, text, sealed);
  std::array<std::byte, 40> told;
  EXPECT_TRUE(unseal_once(secret_, sealed, told));
  EXPECT_EQ(told, text);
  EXPECT_FALSE(unseal_once(Key{}, sealed, told));
  EXPECT_FALSE(unseal_once(secret_, std::span(sealed).first(55), told));
  for (std::byte& each : sealed) {
    each ^= std::byte{128};
    EXPECT_FALSE(unseal_once(secret_, sealed, told));
    each ^= std::byte{128};
  }
}

}  // namespace
}  // namespace weft::sockets
