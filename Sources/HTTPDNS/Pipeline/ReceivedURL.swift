// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// A URL as an interceptor receives it. It is parsed once for all network interceptors that receive it, for their predicates,
/// and for the rewriter.
final class ReceivedURL: Sendable {
    let text: String
    private let isASCII: Bool
    /// Nil for a text that is no URL.
    let parsed: ParsedURL?
    /// The text of the parsed host, in lower case.
    let host: String?
    /// The canonical form, as far as a scan of the text finds it; nil when the parser of libcurl has to.
    let canonical: HTTPDNSRewriter.CanonicalURL?

    init(_ text: String) {
        self.text = text
        isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        canonical = HTTPDNSRewriter.CanonicalURL(plain: text)
        parsed = canonical?.parsed ?? (try? ParsedURL(text))
        host = parsed?.hostText
    }

    /// Whether this is the URL of a text, byte for byte. Strings are also equal when they are canonically equivalent, and those
    /// are other URLs. A text that is equivalent to ASCII and as long is the same one.
    func isURL(of other: String) -> Bool {
        text == other && text.utf8.count == other.utf8.count && (isASCII || text.utf8.elementsEqual(other.utf8))
    }
}
