// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPTypes

// This step decodes content codings (RFC 9110 section 8.4). It runs when the body is read, in the reader's task. Below it the
// body has the bytes that the server sent, which are what a cache stores.
extension Pipeline {
    /// Returns the body of a response, which is decoded on demand when the hop has requested codings.
    ///
    /// With a response cache the body stays as received, and ``decoded(_:to:of:)`` decodes it.
    ///
    /// The transport adds `Accept-Encoding` to the request (``TransferRequest/decodes``), as one line for all requests.
    func body(
        of answer: HopAnswer,
        to method: HTTPRequest.Method,
        _ fixed: FixedHop,
        _ hop: HopRecord,
        keepsCodings: Bool
    ) -> HTTPDNSClient.Response.Body {
        let isDecoded = fixed.isDecoded && !keepsCodings
        let length = BodyLength(declaredBy: answer.head, to: method, decodes: isDecoded)
        guard answer.head.declaresCoding, isDecoded else {
            return HTTPDNSClient.Response.Body(answer.body, of: hop, length: length)
        }
        let source: DecodedBody.Source =
            switch answer.body {
            case .transfer(let body): .transfer(body)
            case .chunks(let chunks): .chunks(chunks)
            }
        let facts = DecodedBody.Facts(
            endpoint: answer.endpoint,
            failedAttempts: answer.failedAttempts,
            timings: answer.timings
        )
        return HTTPDNSClient.Response.Body(DecodedBody(source, of: answer.head, facts), of: hop, length: length)
    }
}
