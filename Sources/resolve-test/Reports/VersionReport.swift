// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The output of `--version`: the versions of the program and of the libraries that it has loaded.
struct VersionReport {
    var program = LibraryVersion.current
    var libcurl = CurlLibrary.version
    /// The TLS library of libcurl, such as `OpenSSL/3.0.19`; nil without TLS.
    var tls = TLSBackend.current?.description
    /// The HTTP/2 library of libcurl, such as `nghttp2/1.52.0`; nil without HTTP/2.
    var http2 = CurlLibrary.http2
    var zlib = CurlLibrary.zlib
    /// The resolver of libcurl, such as `c-ares/1.18.1` or `threads`, which the client never uses.
    var resolver = CurlLibrary.resolver

    static func isWanted(_ arguments: [String]) -> Bool {
        let words = arguments.filter { $0 != "--json" }
        return words == ["version"] || !words.isEmpty && words.allSatisfy { $0 == "--version" }
    }

    /// Returns a line for each library, with its name and version.
    func text() -> String {
        let libraries = [tls, http2, zlib.map { "zlib/\($0)" }, resolver].compactMap { $0 }
        let lines = libraries.filter { $0.contains("/") }.map { $0.replacing("/", with: " ", maxReplacements: 1) }
        return (["resolve-test \(program)", "libcurl \(libcurl)"] + lines).map { PrintableText.line($0) + "\n" }
            .joined()
    }

    func json() -> JSONValue {
        .object([
            "version": .text(program), "libcurl": .text(libcurl), "tls": .optional(tls), "http2": .optional(http2),
            "zlib": .optional(zlib), "resolver": .text(resolver),
        ])
    }
}
#endif
