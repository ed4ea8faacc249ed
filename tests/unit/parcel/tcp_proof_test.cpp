// By what two ranks of the parcelport tcp know each other.
#include "study/parcelports/tcp/tcp_proof.hpp"

#include <gtest/gtest.h>

namespace weft::parcel::ports::tcp {
namespace {

struct Said {
  Secret secret{};
  Challenge challenge;
  Greeting greeting;

  Said() {
    secret[0] = std::byte{1};
    challenge.nonce[3] = std::byte{2};
    greeting.rank = 4;
    greeting.to = 5;
    greeting.nonce[6] = std::byte{7};
  }
  [[nodiscard]] Proof proof(char side = 'c') const { return proof_of(side, secret, challenge, greeting); }
};

TEST(TcpProof, IsTheSameForBothWhoHaveSaidTheSame) {
  EXPECT_TRUE(are_equal(Said().proof(), Said().proof()));
  Said with_proof;
  with_proof.greeting.proof = Said().proof();
  EXPECT_TRUE(are_equal(with_proof.proof(), Said().proof())) << "a proof does not prove itself";
}

TEST(TcpProof, IsAnotherOneForWhateverWasSaidOtherwise) {
  const Proof right = Said().proof();
  EXPECT_FALSE(are_equal(right, Said().proof('l'))) << "sent back to who has made it";
  const auto expect_other = [&](auto change) {
    Said other;
    change(other);
    EXPECT_FALSE(are_equal(right, other.proof()));
  };
  expect_other([](Said& said) { said.secret.back() = std::byte{1}; });
  expect_other([](Said& said) { said.challenge.nonce.back() = std::byte{1}; });
  expect_other([](Said& said) { said.greeting.nonce.back() = std::byte{1}; });
  expect_other([](Said& said) { said.greeting.rank = 3; });
  expect_other([](Said& said) { said.greeting.to = 3; });
}

TEST(TcpProof, IsComparedToItsLastByte) {
  for (std::size_t place = 0; place < sizeof(Proof); ++place) {
    Proof changed = Said().proof();
    changed[place] ^= std::byte{0x40};
    EXPECT_FALSE(are_equal(changed, Said().proof())) << place;
  }
}

}  // namespace
}  // namespace weft::parcel::ports::tcp
