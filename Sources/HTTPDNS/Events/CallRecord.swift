// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
package import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// The record of a call that has ended: its request, its hops, its times and bytes, and its outcome.
    ///
    /// Its text and its reflection have no secrets: no header field, no body, and no query of a URL. Only the request of
    /// ``Hop/exchange`` has the URL as it was written. Observers get it, see ``HTTPDNSObserver/callEnded(_:)``.
    public struct CallRecord: Sendable, CustomStringConvertible {
        /// The methods that the semantic conventions of OpenTelemetry know. Metrics and spans name no other: their number is
        /// not bounded.
        package static let knownMethods: Set<String> = [
            "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
        ]

        /// The number of the call, unique in the process: ``HTTPDNSClient/InterceptionContext/callID``.
        public var callID: UInt64
        /// The method of the caller's request.
        public var method: HTTPRequest.Method
        /// The URL of the caller's request in canonical form, without user information, query and fragment, at most 120
        /// characters.
        public var url: String {
            get { shownURL.text }
            set { shownURL = ShownURL(text: newValue) }
        }
        var shownURL: ShownURL
        /// The start of the call.
        public var start: ContinuousClock.Instant
        /// The time from the start to the end of the call, which is the end of its response body.
        public var duration: Duration = .zero
        /// The time from the start to the response head that the caller got; nil when there was none.
        public var timeToHead: Duration?
        /// The requests of the call in their order, with those of retries and redirects. A call that got the response to
        /// another call's request has a hop for it, see ``Hop/isMerged``. Of more than 128 hops, the first 64 and the last 64 are
        /// kept (``hopsLeftOut``).
        public var hops: [Hop] = []
        /// The number of hops that ``hops`` leaves out, in its middle. Sums of bytes are without them.
        public var hopsLeftOut = 0
        /// The outcome.
        public var outcome: Outcome
        /// The error; nil unless the call failed.
        public var error: HTTPDNSClientError?
        /// The number of redirects that were followed.
        public var redirects = 0
        /// The number of retries by the ``HTTPDNSClient/RetryPolicy``, with one during whose wait the call ended.
        public var retries = 0
        /// The status that the caller got; nil when there was none.
        public var status: HTTPResponse.Status?
        /// The bytes of the response body that the caller read, after decoding and after interceptors.
        public var bodyBytes: Int64 = 0
        /// Whether the caller read the response body to its end. A released body is no failure.
        public var isBodyComplete = false
        /// The parts that may have secrets; nil unless its observer asks for them, see ``DetailedObserver``.
        package internal(set) var details: CallDetails?

        /// Removes the parts that may have secrets, for observers that do not ask for them.
        mutating func removeDetails() {
            details = nil
            for index in hops.indices {
                hops[index].messages = nil
                (hops[index].rewritten, hops[index].resolved, hops[index].notes) = (nil, nil, [])
            }
        }

        /// Removes the details, and what names show to be secrets in the messages of the hops.
        package mutating func cutSecrets(by redaction: HTTPDNSClient.Redaction) {
            details = nil
            for index in hops.indices {
                hops[index].messages?.cutSecrets(by: redaction)
                hops[index].rewritten = nil
            }
        }

        /// Creates a record, such as for the test of an observer.
        public init(
            callID: UInt64,
            method: HTTPRequest.Method = .get,
            url: String,
            start: ContinuousClock.Instant,
            outcome: Outcome = .finished
        ) {
            self.callID = callID
            self.method = method
            shownURL = ShownURL(text: url)
            self.start = start
            self.outcome = outcome
        }

        /// The part that the response cache took in the last hop; nil without a cache.
        public var cacheSource: HTTPDNSClient.CacheSource? { hops.last?.cacheSource }
        /// The bytes of all request bodies, as sent.
        public var requestBodyBytes: Int64 { hops.reduce(0) { $0 + ($1.requestBodyBytes ?? 0) } }
        /// The bytes of all response bodies, as received.
        public var responseBodyBytes: Int64 { hops.reduce(0) { $0 + ($1.responseBodyBytes ?? 0) } }

        /// The method, the URL, the outcome, and the duration: `GET https://one.test/a: finished 200 in 12 ms, 1 hop`.
        public var description: String {
            let result = status.map { " \($0.code)" } ?? error.map { " \($0.shortDescription)" } ?? ""
            let count = hops.count + hopsLeftOut
            return "\(method.rawValue) \(url): \(outcome)\(result) in \(duration.shortText), "
                + "\(count) \(count == 1 ? "hop" : "hops")"
        }
    }
}

extension HTTPDNSClient.CallRecord {
    /// The outcome of a call. More outcomes may be added.
    public struct Outcome: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier for logs and metric labels.
        public let description: String

        /// The caller got a response, of any status, and its body ended without an error or was released.
        public static let finished = Outcome(description: "finished")
        /// The call failed, or its body did.
        public static let failed = Outcome(description: "failed")
        /// The call was canceled.
        public static let canceled = Outcome(description: "canceled")
    }

    /// One request of a call. Two of them have the same ``number`` when a network interceptor sent a request twice.
    public struct Hop: Sendable {
        /// The number of the hop in its call, from 0: ``HTTPDNSClient/InterceptionContext/hop``.
        public var number: Int
        /// The method.
        public var method: HTTPRequest.Method
        /// The URL in canonical form, without user information, query and fragment, at most 120 characters.
        public var url: String {
            get { shownURL.text }
            set { shownURL = ShownURL(text: newValue) }
        }
        var shownURL: ShownURL
        /// The start of the hop.
        public var start: ContinuousClock.Instant
        /// The time from the start of the hop to its response head, or to its failure; nil when it was canceled.
        public var duration: Duration?
        /// Whether the response was made in this process: by an interceptor, a stub, a handler of a scheme or the response
        /// cache. Such a hop has no exchange, timings or bytes.
        public var isAnsweredInProcess = false
        /// Whether the hop is that of another call with an identical request, whose response this call got too
        /// (``HTTPDNSClient/Options/mergesIdenticalReads``). It has the method and URL of this call, the exchange
        /// and the status of the response, and the time that this call waited. Attempts, timings, bytes and redirects are
        /// in the record of the other call.
        public var isMerged = false
        /// The part that the response cache took. For `validated`, and for `stale` after an error of the server, ``status``
        /// is that of the server. Nil without a cache, for a method that it does not store, and for a hop that failed.
        public var cacheSource: HTTPDNSClient.CacheSource?
        /// The exchange with the server that responded, as it was at the response head; nil without a response of a server.
        public internal(set) var exchange: HTTPDNSClient.Exchange?
        /// The addresses that were tried and failed, in order.
        public var attempts: [HTTPDNSClientError.Attempt] { error?.attempts ?? exchange?.failedAttempts ?? [] }
        /// The status; nil without a response.
        public var status: HTTPResponse.Status?
        /// The durations of the phases that had ended: `total` is known when the body had arrived whole. Those of making
        /// a connection are nil when it had been used before.
        public var timings = HTTPDNSClient.Exchange.Timings()
        /// Whether the request was sent twice, see ``HTTPDNSClient/Exchange/isHedged``.
        public var isHedged = false
        /// The error of the hop; nil for a response, and for a canceled hop.
        public var error: HTTPDNSClientError?
        /// The bytes of the request head as sent, with those of a `CONNECT` to a proxy; over HTTP/2 those of its form in
        /// HTTP/1.1. Nil when they are not known.
        public var requestHeadBytes: Int64?
        /// The bytes of the request body as sent. Nil when they are not known.
        public var requestBodyBytes: Int64?
        /// The bytes of the response head as received, with those of interim responses and of a proxy's response to `CONNECT`;
        /// over HTTP/2 those of its form in HTTP/1.1. Nil when they are not known.
        public var responseHeadBytes: Int64?
        /// The bytes of the response body as received, before decoding. Nil when they are not known. A body that was
        /// released before its end may have had more, which arrived unread or after the end of the call.
        public var responseBodyBytes: Int64?
        /// The bytes of the response body after decoding; nil unless the hop's body was read to its end by the caller.
        public var decodedBodyBytes: Int64?
        /// The host of the URL; nil when the URL was not read, when the host could not be resolved, and for a hop that was answered in
        /// process.
        public var host: HTTPDNSHost?
        /// The port of the URL, with that host.
        public var port: UInt16?
        /// The pattern of the route that gave the addresses; nil when no route did.
        public var route: String?
        /// The time that the hop waited for a connection, also in vain; nil when it did not wait.
        package var queueWait: Duration?
        /// The time from the start of the hop to its cancellation; nil when it was not canceled.
        package var cancellation: Duration?
        /// Whether the hop failed or was canceled before anything was done to send it, in an interceptor for example.
        package var isUnsent = false

        // The rest is of calls whose observers ask for details, see ``details``.

        /// The request as it was sent, and the response head.
        package internal(set) var messages: CallDetails.Messages?
        /// The rewritten request with the addresses of the last attempts; nil for a hop that was not rewritten.
        package internal(set) var rewritten: HTTPDNSRewriter.RewrittenRequest?
        /// The addresses that were resolved last, and their source; nil for a hop that was not resolved.
        var resolved: (source: HTTPDNSResolver.Resolution.Source, addresses: [HTTPDNSEndpoint])?
        /// The notes of the transfers that it led to.
        var notes: [TransferNotes] = []

        /// Creates a hop, such as for the test of an observer.
        public init(number: Int = 0, method: HTTPRequest.Method = .get, url: String, start: ContinuousClock.Instant) {
            self.number = number
            self.method = method
            shownURL = ShownURL(text: url)
            self.start = start
        }
    }
}

extension HTTPDNSClient.CallRecord.Hop {
    /// The attempts at endpoints of all transfers.
    var notedAttempts: [TransferNotes.Attempt] {
        // Nearly all hops have one transfer.
        notes.count == 1 ? notes[0].attempts : notes.flatMap(\.attempts)
    }
    /// The attempt that got the response, or the last one.
    static func last(of attempts: [TransferNotes.Attempt]) -> TransferNotes.Attempt? {
        attempts.last { $0.responseHeadBytes > 0 } ?? attempts.last
    }

    /// The source of the addresses; nil for a hop that was not resolved.
    package var source: HTTPDNSResolver.Resolution.Source? { resolved?.source }
    /// The addresses and ports in the order of the attempts: that of the transport once it has begun.
    package var addresses: [HTTPDNSEndpoint] {
        let given = resolved?.addresses ?? []
        let order = notes.last?.endpointsInOrder ?? []
        // The order of a proxy's own addresses is another one.
        return !order.isEmpty && order.allSatisfy(given.contains) ? order : given
    }
    /// The address and port of this machine on the connection; nil for a hop without one.
    package var localEndpoint: HTTPDNSEndpoint? { Self.last(of: notedAttempts)?.localEndpoint }
    /// The last attempt that had a connection, also one without a response; nil when no connection was made or found.
    package var connection: TransferNotes.Attempt? {
        notedAttempts.last { $0.sentAt != nil || ![.connect, .queue].contains($0.phase) }
    }
}

/// The URL of a record. Its text is made when it is read: most records are not read. A reflection does not show it.
struct ShownURL: Sendable, CustomReflectable {
    private enum Content: Sendable {
        /// As it was written, without its query: a URL with user information or with items in its path is none of these.
        case written(String)
        case made(String)
    }

    private let content: Content

    /// - Parameter url: The URL as the request has it.
    init(_ url: String) {
        let start = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let hasItems = start.contains { byte in
            byte == UInt8(ascii: ";") || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "%")
        }
        // Before an at-sign there may be a password, and a text that is no URL is shown otherwise.
        if hasItems || url.utf8.contains(UInt8(ascii: "@")) || !url.hasPrefix("http") {
            content = .made(ShownURL.text(of: url))
        } else {
            content = .written(String(Substring(start)))
        }
    }

    init(text: String) { content = .made(text) }

    /// The URL in canonical form, without user information, query and fragment, at most 120 characters.
    var text: String {
        switch content {
        case .made(let text): text
        case .written(let url): ShownURL.text(of: url)
        }
    }

    private static func text(of url: String) -> String {
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(url) else { return URLText.forErrors(url) }
        let path = HTTPDNSClient.Redaction.standard.path(String(url.target.prefix { $0 != "?" }))
        return "\(url.scheme)://\(url.authority)\(path)".escaped(limit: 120)
    }

    var customMirror: Mirror { Mirror(self, children: []) }
}
