// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// An event of one call, from its start to the end of its response body.
    ///
    /// The events of a call come in their order. The first one is ``Kind/started``. The last one is ``Kind/finished``,
    /// ``Kind/failed`` or ``Kind/canceled``: each call has one of them, and no event after it.
    ///
    /// An event contains no header field, no body and no query of a URL. Properties that its kind does not have are nil or
    /// empty.
    public struct RequestEvent: Sendable, CustomStringConvertible {
        /// The number of the call, unique in the process: ``HTTPDNSClient/InterceptionContext/callID``.
        public var callID: UInt64
        /// The number of the hop in its call, from 0: ``HTTPDNSClient/InterceptionContext/hop``. Retries and redirects are
        /// hops of their own.
        public var hop: Int
        /// The kind of the event.
        public var kind: Kind
        /// The time of the event. It never goes back within a call.
        public var time: ContinuousClock.Instant
        /// The method: of the caller's request for ``Kind/started``, of the next request for ``Kind/redirect``.
        public var method: HTTPRequest.Method?
        /// The URL without user information, query and fragment, at most 120 characters: the caller's for ``Kind/started``, the target
        /// for ``Kind/redirect``.
        public var url: String?
        /// The source of the addresses, for ``Kind/resolved``.
        public var source: HTTPDNSResolver.Resolution.Source?
        /// The addresses and ports in the order of the attempts, for ``Kind/resolved``.
        public var addresses: [HTTPDNSEndpoint] = []
        /// The address and port, for ``Kind/connecting``, ``Kind/connected``, ``Kind/requestSent`` and
        /// ``Kind/responseHead``. Through a proxy that resolves names it is the proxy's.
        public var endpoint: HTTPDNSEndpoint?
        /// Whether the connection had been used before, for ``Kind/requestSent``.
        public var reusedConnection: Bool?
        /// The status, for ``Kind/responseHead``, ``Kind/redirect`` and a ``Kind/retry`` after a response.
        public var status: HTTPResponse.Status?
        /// Whether the response was made in this process: by an interceptor, a stub, a handler of a scheme or the response
        /// cache.
        public var isAnsweredInProcess = false
        /// Whether the response is that to an identical request of another call, for ``Kind/responseHead``. See
        /// ``HTTPDNSClient/CallRecord/Hop/isMerged``.
        public var isMerged = false
        /// The part that the response cache took, for ``Kind/responseHead``. It is `miss` for a head of the server, also of a
        /// 304 response; the other values are for a head that the cache made. Nil without a cache, for a method that it
        /// does not store, and for a head of an interceptor.
        public var cacheSource: HTTPDNSClient.CacheSource?
        /// The bytes of the body so far, for ``Kind/requestBodyProgress`` and ``Kind/bodyProgress``.
        public var progress: HTTPDNSClient.Progress?
        /// The wait before the next try, for ``Kind/retry``.
        public var delay: Duration?
        /// The error, for ``Kind/failed`` and a ``Kind/retry`` after a failure.
        public var error: HTTPDNSClientError? {
            get { failure as? HTTPDNSClientError }
            set { failure = newValue }
        }
        /// The number of calls that this subscriber has lost so far, see ``HTTPDNSClient/RequestEvents``.
        public var lostCalls = 0

        /// The error in a box, because nearly no event has one, and it is larger than the rest.
        private var failure: (any Error)?

        /// Creates an event.
        public init(_ kind: Kind, callID: UInt64, hop: Int = 0, at time: ContinuousClock.Instant) {
            self.kind = kind
            self.callID = callID
            self.hop = hop
            self.time = time
        }

        /// The numbers of call and hop, the kind, and its main facts: `call 7, hop 0: connected 203.0.113.7:443`.
        public var description: String {
            var text = "call \(callID), hop \(hop): \(kind)"
            if let method { text += " \(method.rawValue)" }
            if let status { text += " \(status.code)" }
            if let url { text += " \(url)" }
            if let endpoint { text += " \(endpoint)" }
            if let source { text += " by \(source)" }
            if let cacheSource { text += " cache \(cacheSource)" }
            if let progress { text += " \(progress)" }
            if let error { text += " \(error.shortDescription)" }
            return text
        }
    }
}

extension HTTPDNSClient.RequestEvent {
    /// The kind of an event. More kinds may be added.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier for logs and metric labels.
        public let description: String

        /// The call has begun.
        public static let started = Kind(description: "started")
        /// The addresses of a hop are known. It comes when they are, and so before the wait for a connection. A hop has
        /// another one when its addresses change: after a wait, and when the system resolver's addresses are tried.
        public static let resolved = Kind(description: "resolved")
        /// A connection to an address was begun.
        ///
        /// This event, ``connected`` and ``requestSent`` have the times at which they happened, and are delivered with the
        /// response head, or with the failure or the cancellation of the hop. A hop on a kept connection has neither this
        /// event nor ``connected``.
        public static let connecting = Kind(description: "connecting")
        /// A connection was established, with its TLS handshake.
        public static let connected = Kind(description: "connected")
        /// The sending of the request began.
        public static let requestSent = Kind(description: "request-sent")
        /// Bytes of a streamed request body were sent: a body from a file or a stream. A body in memory has no such events.
        public static let requestBodyProgress = Kind(description: "request-body-progress")
        /// A response head arrived, or was made in this process. A hop whose response of the server the response cache replaces
        /// by a stored one has two of these events.
        public static let responseHead = Kind(description: "response-head")
        /// Bytes of the response body were read by the caller.
        public static let bodyProgress = Kind(description: "body-progress")
        /// A redirect is followed.
        public static let redirect = Kind(description: "redirect")
        /// A hop is sent again by the ``HTTPDNSClient/RetryPolicy``, after a wait.
        public static let retry = Kind(description: "retry")
        /// The response body was read to its end, or released by the caller.
        public static let finished = Kind(description: "finished")
        /// The call failed, or its body did.
        public static let failed = Kind(description: "failed")
        /// The call was canceled, with the task that made it or that read its body.
        public static let canceled = Kind(description: "canceled")

        /// Whether no event of the call comes after this one.
        public var isTerminal: Bool { self == .finished || self == .failed || self == .canceled }
    }
}
