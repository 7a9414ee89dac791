// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A fact of an observed call. The step of the pipeline that knows it notes it once, see ``ObservedCall/note(_:)``.
/// Their order is that of the events, see ``HTTPDNSObserver``.
///
/// Facts with many parts are indirect, so that a copy of a fact counts one reference.
///
/// The first number of a fact is that of a hop, or that of a sending: a hop is sent once, or by an interceptor several times or
/// never.
enum CallFact: Sendable {
    /// The call begins.
    case began
    /// A hop with this request has ended. One that has a response and was not sent was answered in process.
    indirect case hopEnded(Int, HTTPDNSClient.Request, since: MonotonicTime, Result<Head, any Error>)
    /// A sending has waited for a lookup. Only traced calls have this fact.
    case lookedUp(HTTPDNSHost, since: MonotonicTime, Result<[HTTPDNSEndpoint], any Error>)
    /// A sending has its host and addresses, or others than before.
    case resolved(Int, HTTPDNSRewriter.RewrittenRequest)
    /// A sending has waited for a connection, also in vain.
    case waited(Int, since: MonotonicTime)
    /// A transfer begins, and the loop will note its attempts.
    case transferBegan(Int, TransferNotes)
    /// A part of a streamed request body was sent.
    case requestBody(Int, HTTPDNSClient.Progress)
    /// A sending has its response head.
    indirect case head(Int, HTTPDNSClient.Exchange)
    /// A sending has failed, or was canceled.
    case failed(Int, any Error)
    /// The call gets the response to the request of another call, for which it has waited as a hop of this number.
    indirect case merged(Int, HTTPDNSClient.Request, HTTPDNSClient.Response, since: MonotonicTime)
    /// A redirect is followed.
    indirect case redirected(HTTPResponse.Status, to: HTTPDNSClient.Request)
    /// A hop is sent again after a wait.
    indirect case retried(after: Result<HTTPDNSClient.Response, any Error>, in: Duration)
    /// The caller gets a response with this head.
    case answered(ResponseHead)
    /// The caller has read so many bytes of a body; the last ones are these.
    indirect case bodyRead(Int64, of: HTTPDNSClient.Response.Body, [UInt8])

    /// The head of a response, and the part that the response cache took in it.
    struct Head: Sendable {
        let content: ResponseHead
        let cacheSource: HTTPDNSClient.CacheSource?

        init(_ response: borrowing HTTPDNSClient.Response) {
            content = response.content
            cacheSource = response.cacheSource
        }
    }

    /// The end of a call. Only the first one counts, see ``ObservedCall/end(_:)``.
    enum End: Sendable {
        /// The body was read to its end.
        case whole(decoded: Int64?)
        /// The response was released before that, perhaps by a task that is canceled.
        /// - Parameter isAsReceived: Whether the bytes that were read are those on the wire.
        case released(isCanceled: Bool, isAsReceived: Bool)
        /// The call or its body failed or was canceled.
        case failed(any Error)
    }
}
