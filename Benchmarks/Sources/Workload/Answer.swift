// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The result of one request of a contender, with its body read to the end.
public struct Answer: Sendable {
    /// The status code.
    public var status: Int
    /// The length of the body.
    public var bodyBytes: Int
    /// Whether it came over HTTP/2.
    public var isHTTP2: Bool

    /// Creates an answer.
    public init(status: Int, bodyBytes: Int, isHTTP2: Bool) {
        self.status = status
        self.bodyBytes = bodyBytes
        self.isHTTP2 = isHTTP2
    }

    /// Why this is not the answer that was ordered; nil when it is.
    func complaint(_ orders: Orders) -> String? {
        if status != 200 { return "status \(status) instead of 200" }
        if bodyBytes != orders.bodyBytes { return "\(bodyBytes) bytes instead of \(orders.bodyBytes)" }
        if isHTTP2 != orders.isHTTP2 { return isHTTP2 ? "HTTP/2 instead of HTTP/1.1" : "HTTP/1.1 instead of HTTP/2" }
        return nil
    }
}
