#if Web
import HTTPTypes
import HummingbirdCore
import NIOCore

/// Turns answers into HTTP responses.
struct Responder: Sendable {
    private let answers: Answers
    private let rule: HostRule
    // Header fields that the library has no names for.
    private static let lastEventID = HTTPField.Name("Last-Event-ID")
    private static let site = HTTPField.Name("Sec-Fetch-Site")
    private static let mode = HTTPField.Name("Sec-Fetch-Mode")
    private static let others = [
        (HTTPField.Name("Referrer-Policy"), "no-referrer"),
        // Has a proxy pass on each event as it comes.
        (HTTPField.Name("X-Accel-Buffering"), "no"),
    ]

    /// After how many seconds to ask again, by status.
    private static let retries = [429: "10", 503: "1"]

    init(answers: Answers, rule: HostRule) {
        (self.answers, self.rule) = (answers, rule)
    }

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - request: what is asked for.
    ///   - follow: called before an answer that takes long; says why there may be none.
    /// - Returns: the answer; a refusal has the connection end after it.
    /// - Throws: what reading the request throws.
    func response(
        to request: Request,
        follow: () -> TooManyFollow?
    ) async throws -> Response {
        let head = request.head
        let refusal = self.rule.refusal(
            host: head.authority,
            origin: head.headerFields[.origin],
            site: Self.site.flatMap { head.headerFields[$0] },
            mode: Self.mode.flatMap { head.headerFields[$0] }
        )
        if let refusal {
            return self.response(.refusal(421, refusal), request)
        }
        guard head.method == .get || head.method == .head else {
            var response = self.response(
                .refusal(405, "this page is read-only; use GET or HEAD"),
                request
            )
            response.headers[.allow] = "GET, HEAD"
            return response
        }
        let question = PageRequest(
            path: request.uri.path.split(separator: "/").map(\.percentDecoded),
            wait: request.uri.queryParameters["wait"].map(String.init),
            tag: head.headerFields[.ifNoneMatch],
            lastID: Self.lastEventID.flatMap { head.headerFields[$0] }
                ?? request.uri.queryParameters["since"].map { $0.percentDecoded }
        )
        guard question.wait != nil else {
            let answer = await self.answers.answer(to: question)
            if case .stream = answer, request.method != .head, let tooMany = follow() {
                return self.response(.refusal(tooMany), request)
            }
            return self.response(answer, request)
        }
        if let tooMany = follow() { return self.response(.refusal(tooMany), request) }
        // No wait continues for a browser that has hung up.
        let answer = try await request.body.consumeWithCancellationOnInboundClose { _ in
            await self.answers.answer(to: question)
        }
        return self.response(answer, request)
    }

    private func response(_ answer: Answer, _ request: Request) -> Response {
        var headers = HTTPFields()
        headers[.cacheControl] = "no-cache"
        headers[.contentSecurityPolicy] = self.answers.page.policy
        headers[.xContentTypeOptions] = "nosniff"
        for (name, value) in Self.others { if let name { headers[name] = value } }
        headers[.crossOriginResourcePolicy] = "same-origin"
        let isHead = request.method == .head
        switch answer {
        case .document(let status, let type, let text, let cursor):
            headers[.contentType] = type
            headers[.retryAfter] = Self.retries[status]
            if status >= 400 { headers[.connection] = "close" }
            headers[.eTag] = cursor.map { "\"\($0)\"" }
            headers[.contentLength] = String(text.utf8.count)
            let body = isHead ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(string: text))
            return Response(status: .init(code: status), headers: headers, body: body)
        case .unchanged(let cursor):
            headers[.eTag] = "\"\(cursor)\""
            return Response(status: .notModified, headers: headers)
        case .stream(let stream):
            headers[.contentType] = "text/event-stream"
            guard !isHead else { return Response(status: .ok, headers: headers) }
            return self.response(stream, headers, request)
        }
    }

    private func response(
        _ stream: EventStream,
        _ headers: HTTPFields,
        _ request: Request
    ) -> Response {
        let body = ResponseBody { writer in
            let out = writer
            // Notices at once that a browser hangs up, not only at the next write.
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                try await stream.run { bytes in
                    var own = out
                    try await own.write(ByteBuffer(bytes: bytes))
                }
            }
            try await out.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }
}
#endif
