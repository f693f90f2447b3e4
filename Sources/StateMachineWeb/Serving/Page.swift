import FoundationEssentials
import StateMachineDeclaration

/// The page: one document with its style and its script in it.
struct Page: Sendable {
    let html: String
    /// What a browser lets it do: run and show itself, and send requests to where it comes from.
    let policy: String

    init() {
        let style = String(decoding: PackageResources.page_css, as: UTF8.self)
        let script = String(decoding: PackageResources.page_js, as: UTF8.self)
        self.html = String(decoding: PackageResources.page_html, as: UTF8.self)
            .replacing("<style></style>", with: "<style>\(style)</style>")
            .replacing("<script></script>", with: "<script>\(script)</script>")
        self.policy = [
            "default-src 'none'", "script-src \(Self.source(script))",
            "style-src \(Self.source(style))", "connect-src 'self'", "img-src data:",
            "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ].joined(separator: "; ")
    }

    /// Exactly these bytes: Content Security Policy level 3, 2.3.1.
    private static func source(_ text: String) -> String {
        "'sha256-\(Data(SHA256.digest(of: Array(text.utf8))).base64EncodedString())'"
    }
}
