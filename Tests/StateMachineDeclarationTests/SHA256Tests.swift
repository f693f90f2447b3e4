import Testing

@testable import StateMachineDeclaration

/// The examples of FIPS 180-4, and lengths around block boundaries with the sums of `sha256sum`.
@Suite struct SHA256Tests {
    @Test(arguments: [
        (0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"),
        (56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"),
        (64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"),
        (1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ])
    func manyLettersHaveTheirHash(count: Int, hash: String) {
        #expect(SHA256.hexadecimal(of: [UInt8](repeating: UInt8(ascii: "a"), count: count)) == hash)
    }

    @Test
    func theExampleHasItsHash() {
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        #expect(SHA256.hexadecimal(of: Array("abc".utf8)) == hash)
    }
}
