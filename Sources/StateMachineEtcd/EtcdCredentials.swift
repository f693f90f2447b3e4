#if Cluster
import Glibc
import NIOCore
import NIOSSL
import StateMachineCore
import StateMachineProtocol

/// Whom we trust, and who we are: read from files once; after those have changed, make another.
package struct EtcdCredentials: Sendable {
    let context: NIOSSLContext
    private let own: NIOSSLCertificate?

    /// - Parameters:
    ///   - authority: the certificates by one of which the engine's has to be signed.
    ///   - certificate: our own, with those between it and its authority; its common name is etcd's user.
    ///   - key: of that.
    /// - Throws: a sentence about the file that is no good.
    package init(authority: String, certificate: String?, key: String?) throws(SettingError) {
        var configuration = TLSConfiguration.makeClientConfiguration()
        let roots = try Self.certificates("engine-ca", authority)
        configuration.trustRoots = .certificates(roots)
        configuration.applicationProtocols = ["h2"]
        configuration.minimumTLSVersion = .tlsv12
        // One that does not answer is not waited for, as it ends: it has 5 s else.
        configuration.shutdownTimeout = .milliseconds(100)
        var own: [NIOSSLCertificate] = []
        switch (certificate, key) {
        case (nil, nil): break
        case (let certificate?, let key?):
            own = try Self.certificates("engine-certificate", certificate)
            configuration.certificateChain = own.map { .certificate($0) }
            do {
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(file: key, format: .pem)
                )
            } catch {
                throw SettingError("engine-key: \(key) cannot be read, or has no key in PEM")
            }
        case (nil, _?):
            throw SettingError(
                "engine-key is set and engine-certificate is not; set both, or neither"
            )
        case (_?, nil):
            throw SettingError(
                "engine-certificate is set and engine-key is not; set both, or neither"
            )
        }
        do {
            self.context = try NIOSSLContext(configuration: configuration)
        } catch {
            throw SettingError(
                "engine-key is not the key of engine-certificate; set those that were made together"
            )
        }
        self.own = own.first
    }

    private static func certificates(
        _ setting: String,
        _ path: String
    ) throws(SettingError) -> [NIOSSLCertificate] {
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(path)
            guard !certificates.isEmpty else { throw SettingError("") }
            return certificates
        } catch {
            throw SettingError("\(setting): \(path) cannot be read, or has no certificate in PEM")
        }
    }

    /// What kept a connection from being encrypted, and what to do; nil if it was something else.
    ///
    /// `shown` is the certificate that the engine has shown.
    func trouble(
        _ error: any Error,
        with endpoint: EtcdEndpoint,
        shown: NIOSSLCertificate?
    ) -> ConnectionTrouble? {
        if error as? NIOSSLExtraError == .failedToValidateHostname {
            return ConnectionTrouble(
                "the certificate of \(endpoint) is for another name; "
                    + "name the engine in engine-endpoints as its certificate does, or have \(endpoint.host) put into that",
                .certificate
            )
        }
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return ConnectionTrouble(Self.doubt(of: shown, of: endpoint), .certificate)
        }
        if text.contains("_ALERT_") {
            return ConnectionTrouble(self.refusal(by: endpoint), .certificate)
        }
        if text.contains("WRONG_VERSION_NUMBER") || text.contains("EOF during handshake") {
            return
                "\(endpoint) does not answer as an encrypted one; is etcd told --cert-file, and https:// to listen at?"
        }
        return nil
    }

    /// Why the certificate that the engine has shown is not taken here.
    private static func doubt(
        of shown: NIOSSLCertificate?,
        of endpoint: EtcdEndpoint
    ) -> String {
        switch shown.map(Self.lifetime) {
        case .over(let day)?:
            "the certificate of \(endpoint) has expired on \(day); renew it, or set this host's clock"
        case .toCome(let day)?:
            "the certificate of \(endpoint) begins on \(day); set this host's clock"
        case .present?, nil:
            "the certificate of \(endpoint) is not signed by any of engine-ca; set engine-ca to the authority that has signed it"
        }
    }

    /// Why the engine does not take this host's certificate.
    private func refusal(by endpoint: EtcdEndpoint) -> String {
        guard let own = self.own else {
            return "\(endpoint) asks for a certificate; set engine-certificate and engine-key"
        }
        if case .over(let day) = Self.lifetime(of: own) {
            return "engine-certificate has expired on \(day); renew it"
        }
        return "\(endpoint) refuses engine-certificate; "
            + "have it signed by an authority of etcd's --trusted-ca-file, for use by clients"
    }

    private enum Lifetime {
        case present
        case over(String)
        case toCome(String)
    }

    private static func lifetime(of certificate: NIOSSLCertificate) -> Lifetime {
        let now = time(nil)
        if certificate.notValidAfter < now { return .over(Self.day(certificate.notValidAfter)) }
        if certificate.notValidBefore > now { return .toCome(Self.day(certificate.notValidBefore)) }
        return .present
    }

    /// A day of the calendar, in UTC.
    private static func day(_ time: time_t) -> String {
        var (seconds, day) = (time, tm())
        gmtime_r(&seconds, &day)
        return
            "\(Int(day.tm_year) + 1900)-\((Int(day.tm_mon) + 1).digits(2))-\(Int(day.tm_mday).digits(2))"
    }
}
#endif
