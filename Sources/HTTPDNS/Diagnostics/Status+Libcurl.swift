// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl

extension HTTPDNSClient.Status {
    /// The capabilities of the libcurl that the process has loaded. Source: `curl_version_info`.
    public struct LibcurlCapabilities: Codable, Hashable, Sendable {
        /// The TLS library, such as `OpenSSL/3.0.19`; nil without TLS.
        public var tls: String?
        /// Whether the TLS library is OpenSSL or a variant of it. With others, the client refuses TLS, because they ignore some
        /// security options.
        public var supportsTrustSettings: Bool
        /// The library for HTTP/2, such as `nghttp2/1.52.0`; nil without HTTP/2.
        public var http2: String?
        /// The resolver of libcurl, which the client never uses: `threads`, `blocking`, or `c-ares` with its version.
        public var resolver: String
        /// The features by libcurl's names, such as `HTTP2` and `brotli`.
        public var features: [String]
        /// The protocols, such as `https`. The client uses `http` and `https` alone.
        public var protocols: [String]
    }
}

extension HTTPDNSClient.Status.LibcurlCapabilities {
    /// The capabilities of the libcurl in use.
    static let ofThisProcess = HTTPDNSClient.Status.LibcurlCapabilities(
        tls: TLSBackend.current?.description,
        supportsTrustSettings: TLSBackend.current?.honorsAllOptions == true,
        http2: CurlLibrary.http2,
        resolver: CurlLibrary.resolver,
        features: CurlLibrary.features,
        protocols: CurlLibrary.protocols
    )
}
