// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl

/// The libcurl in use, which may be newer than the one at build time.
package enum CurlLibrary {
    /// The version, such as `7.88.1`.
    package static var version: String {
        guard let information = curl_version_info(CURLVERSION_FIRST), let text = information.pointee.version else {
            return "unknown"
        }
        return String(cString: text)
    }

    /// The protocols, such as `http` and `https`, in libcurl's order.
    package static var protocols: [String] { texts(curl_version_info(CURLVERSION_FIRST)?.pointee.protocols) }

    /// The features by libcurl's names, such as `HTTP2` and `AsynchDNS`, in libcurl's order (`feature_names`, 7.87).
    package static var features: [String] {
        guard let information = curl_version_info(CURLVERSION_FIRST),
            information.pointee.age.rawValue >= CURLVERSION_ELEVENTH.rawValue
        else { return [] }
        return texts(information.pointee.feature_names)
    }

    /// The library for HTTP/2 with its version, such as `nghttp2/1.52.0`; `nil` when libcurl has no HTTP/2.
    package static var http2: String? {
        guard let text = curl_version_info(CURLVERSION_FIRST)?.pointee.nghttp2_version else { return nil }
        return "nghttp2/\(String(cString: text))"
    }

    /// The version of zlib, such as `1.2.13`; `nil` when libcurl was built without it.
    package static var zlib: String? {
        guard let text = curl_version_info(CURLVERSION_FIRST)?.pointee.libz_version else { return nil }
        return String(cString: text)
    }

    /// The resolver that libcurl was built with: `c-ares` with its version, or `threads`. The client never uses it.
    package static var resolver: String {
        guard let text = curl_version_info(CURLVERSION_FIRST)?.pointee.ares else {
            return features.contains("AsynchDNS") ? "threads" : "blocking"
        }
        return "c-ares/\(String(cString: text))"
    }

    /// Reads a list that ends with a null pointer.
    private static func texts(_ list: UnsafePointer<UnsafePointer<CChar>?>?) -> [String] {
        guard var next = list else { return [] }
        var texts: [String] = []
        while let text = next.pointee {
            texts.append(String(cString: text))
            next += 1
        }
        return texts
    }

    /// The version as libcurl encodes it (LIBCURL_VERSION_NUM): `0x080E01` is 8.14.1.
    private static let versionNumber = curl_version_info(CURLVERSION_FIRST)?.pointee.version_num ?? 0

    /// Whether a connection can carry only one request over HTTP/2 in clear text.
    ///
    /// libcurl quirk: A second request in clear text (7.88; corrected in 8.0). libcurl adds its HTTP/2 filter again, and the
    /// request fails. So each has its own connection. Tests: VersionChoiceTests.
    package static let limitsClearTextHTTP2 = (0x075800..<0x080000).contains(versionNumber)

    /// Whether libcurl looks for the last connection of a removed handle (libcurl quirk "The last connection is looked for").
    static let looksForLastConnection = (0x075800..<0x080000).contains(versionNumber)

    /// Whether libcurl appends a folded first field line to freed memory (libcurl quirk "A folded first line").
    static let foldsIntoFreedHeader = (0x075800..<0x080200).contains(versionNumber)

    /// Whether libcurl loses an HTTP/2 response whose stream the server resets.
    ///
    /// libcurl quirk: Early response, lost (7.88 and 8.0; corrected in 8.1, by its source). libcurl loses a response that it
    /// reads together with the reset of its stream (RFC 9113 section 8.1, `cf_h2_recv`). The request fails with
    /// `connection-lost`, with the advice to use HTTP/1.1. Without data to send, it fails at the limit for the response head.
    /// Tests: EarlyResponseTests.
    static let losesResponseBeforeReset = versionNumber < 0x080100

    /// The value of CURLOPT_DNS_CACHE_TIMEOUT, in seconds, with which entries never expire.
    ///
    /// libcurl quirk: Entries without a time limit (7.88.1 takes -1; 8.14.1; 8.16.0). With -1, 8.14.1 removes all entries at
    /// the end of each transfer, and 8.16.0 refuses the value (curl's issue 18959). Version 8 gets its longest limit, 68 years.
    /// Tests: TransportConnectionTests, DeadConnectionTests, RepetitionTests.
    static let endlessEntries = versionNumber < 0x080000 ? -1 : Int(Int32.max)

    /// Whether libcurl closes an idle connection over HTTP/1.1 that has unread TLS 1.3 session tickets.
    ///
    /// libcurl quirk: Unread session tickets (8.14.1 over HTTP/1.1; 7.88.1 over HTTP/2). libcurl closes a connection that was
    /// made ahead with TLS 1.3, since its session tickets are unread (`Curl_conn_seems_dead`), over HTTP/2 until the server's
    /// SETTINGS have arrived too (`http2_connisdead`), and makes another one. Tests: StrayBytesTests, PreconnectTLSTests.
    package static let closesWithUnreadTickets = versionNumber >= 0x080000

    /// Whether libcurl finds a kept connection to a proxy whatever the login (libcurl quirk "One name for an HTTPS proxy").
    package static let matchesProxyWithoutLogin = versionNumber >= 0x080000

    /// Whether the window of an HTTP/2 stream, up to which a server sends ahead of a slow reader, is the larger one.
    ///
    /// libcurl quirk: A pause is not exact (7.88.1; 8.14). A paused HTTP/2 stream is read on while others use its connection:
    /// up to 32 MiB with 7.88, and 20 MiB with 8.14. Tests: TransportStreamTests.
    package static let hasLargeStreamWindow = versionNumber < 0x080000
}
