import StateMachineDeclaration
import Testing

@testable import StateMachineRunner

/// Files of variables, as systemd's `EnvironmentFile=` reads them.
struct EnvironmentFileTests {
    private func variables(_ bytes: [UInt8]) -> [String]? {
        EnvironmentFile(bytes)?.variables.map { "\($0.name)=\($0.value)" }
    }

    @Test(arguments: [
        ("A=1\nB=2", ["A=1", "B=2"]),
        ("A=1\r\nB=2\r\n", ["A=1", "B=2"]),
        ("# c\n; d\n\n  A = 1 2 \t\nno value\nB=", ["A=1 2", "B="]),
        ("A='a b'\nB=\"c d\" \"e\"\nC=f'g'", ["A=a b", "B=c de", "C=f'g'"]),
        ("A=\"one\ntwo\"\nB='x\ny'\n", ["A=one\ntwo", "B=x\ny"]),
        ("A=one\\\ntwo\nB=\"1\\\n2\"\nC=3", ["A=onetwo", "B=12", "C=3"]),
        (
            #"A=a\ b\\"# + "\n" + #"B="\"\$\`\\\n""# + "\n" + #"C='\n'"#,
            [#"A=a b\"#, #"B="$`\\n"#, #"C=\n"#]
        ),
        ("A=x\\  \nB=y  z  ", ["A=x ", "B=y  z"]),
        // The end of a comment is the end of its line.
        ("# one\\\nA=1", ["A=1"]),
        ("9P=1\nA-B=2\n=3\nC=4", ["C=4"]),
        ("\u{FEFF}A=1\nB=2", ["B=2"]),
        ("A=\u{1}x\nB=tab\there\nÄ=1", ["B=tab\there"]),
        ("A=1\nA=2", ["A=1", "A=2"]),
        ("A='open\nB=2", ["A=open\nB=2"]),
    ])
    func linesAreReadAsSystemdReadsThem(_ text: String, _ variables: [String]) {
        #expect(self.variables(Array(text.utf8)) == variables)
    }

    @Test(arguments: [Array("A=1\0\n".utf8), [UInt8(ascii: "A"), UInt8(ascii: "="), 0xFF]])
    func whatIsNoTextIsRefused(_ bytes: [UInt8]) {
        #expect(self.variables(bytes) == nil)
    }

    @Test func aFileThatMayBeMissingHasNoVariables() {
        #expect(EnvironmentFile("/nonexistent/file") == nil)
        #expect(EnvironmentFile("-/nonexistent/file")?.variables.isEmpty == true)
    }
}
