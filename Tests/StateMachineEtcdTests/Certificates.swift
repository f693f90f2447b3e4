#if Cluster
import Foundation
import StateMachineEtcd
import Subprocess
import TestSupport

/// Certificates of a test's own, made with openssl in its directory.
struct Certificates: Sendable {
    static let canBeMade = EtcdProcess.program("openssl") != nil

    let directory: String

    /// Makes an authority.
    init(in directory: String, named name: String) async throws {
        self.directory = "\(directory)/\(name)"
        try makeDirectory(self.directory)
        try await self.openssl(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=\(name) -keyout ca.key -out ca.crt"
        )
    }

    /// Makes a certificate that it has signed, with files of that name.
    ///
    /// `names` are those for which it is, as `subjectAltName` has them; nil: it is a client's. `days` are
    /// when it begins and when it ends, from now on.
    func make(_ name: String, for names: String? = nil, days: Range<Int> = -1..<30) async throws {
        let usage =
            names.map { "subjectAltName=\($0)\nextendedKeyUsage=serverAuth,clientAuth\n" }
            ?? "extendedKeyUsage=clientAuth\n"
        try usage.write(toFile: "\(self.directory)/\(name).ext", atomically: true, encoding: .utf8)
        try await self.openssl(
            "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=\(name) -keyout \(name).key -out \(name).csr"
        )
        // x509 knows no beginning before 3.4; ca does.
        if !FileManager.default.fileExists(atPath: "\(self.directory)/index") {
            try "".write(toFile: "\(self.directory)/index", atomically: true, encoding: .utf8)
            let configuration = """
                [ca]
                default_ca = own
                [own]
                database = index
                new_certs_dir = .
                rand_serial = yes
                default_md = sha256
                policy = any
                unique_subject = no
                [any]
                commonName = supplied
                """
            try configuration.write(
                toFile: "\(self.directory)/ca.conf",
                atomically: true,
                encoding: .utf8
            )
        }
        try await self.openssl(
            "ca -batch -notext -config ca.conf -cert ca.crt -keyfile ca.key -in \(name).csr -out \(name).crt -extfile \(name).ext "
                + "-startdate \(Self.date(days.lowerBound)) -enddate \(Self.date(days.upperBound))"
        )
    }

    private static func date(_ days: Int) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "UTC")
        format.dateFormat = "yyyyMMddHHmmss'Z'"
        return format.string(from: Date().addingTimeInterval(Double(days) * 86_400))
    }

    private func openssl(_ words: String) async throws {
        let process = try SpawnedProcess(
            ["sh", "-c", "cd '\(self.directory)' && exec openssl \(words)"],
            output: "\(self.directory)/openssl.log"
        )
        guard try await process.ended() == 0 else {
            throw TestFailure("openssl \(words): \(process.said)")
        }
    }

    func certificate(_ name: String) -> String { "\(self.directory)/\(name).crt" }
    func key(_ name: String) -> String { "\(self.directory)/\(name).key" }

    /// What etcd is told to use: one of these certificates, and who may connect.
    func arguments(_ name: String, trusting authority: Certificates? = nil) -> [String] {
        ["--cert-file", self.certificate(name), "--key-file", self.key(name)]
            + (authority.map { ["--client-cert-auth", "--trusted-ca-file", $0.certificate("ca")] }
                ?? [])
    }

    /// Trusts this authority, as that client; nil: as nobody.
    func credentials(_ name: String? = nil, of other: Certificates? = nil) throws -> EtcdCredentials
    {
        let own = other ?? self
        return try EtcdCredentials(
            authority: self.certificate("ca"),
            certificate: name.map { own.certificate($0) },
            key: name.map { own.key($0) }
        )
    }
}
#endif
