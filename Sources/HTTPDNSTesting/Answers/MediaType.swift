// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The media types of answers.
enum MediaType {
    static let bytes = "application/octet-stream"
    static let text = "text/plain; charset=utf-8"
    static let html = "text/html; charset=utf-8"
    static let json = "application/json"
    private static let svg = "image/svg+xml"

    private static let byExtension = [
        "avif": "image/avif", "bmp": "image/bmp", "css": "text/css; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "gif": "image/gif", "gz": "application/gzip", "htm": html, "html": html, "ico": "image/x-icon",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript; charset=utf-8", "json": json,
        "m4a": "audio/mp4", "md": "text/markdown; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png", "svg": svg,
        "tif": "image/tiff", "tiff": "image/tiff", "txt": text, "wasm": "application/wasm", "webm": "video/webm",
        "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "xml": "application/xml",
        "zip": "application/zip",
    ]

    /// Returns the type of a file by the extension of its name, in any case.
    static func ofFile(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: ".") else { return bytes }
        return byExtension[name[name.index(after: dot)...].lowercased()] ?? bytes
    }

    /// The number of first bytes that decide about the type of an image.
    static let decisive = 512

    /// The first bytes of the formats of images that are recognized by them alone.
    private static let signatures: [(start: [UInt8], type: String)] = [
        ([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a], "image/png"),
        ([0xff, 0xd8, 0xff], "image/jpeg"),
        (Array("GIF87a".utf8), "image/gif"),
        (Array("GIF89a".utf8), "image/gif"),
        (Array("BM".utf8), "image/bmp"),
        ([0x49, 0x49, 0x2a, 0x00], "image/tiff"),
        ([0x4d, 0x4d, 0x00, 0x2a], "image/tiff"),
        ([0x00, 0x00, 0x01, 0x00], "image/x-icon"),
    ]

    /// Returns the type of an image by its first bytes; nil for an unknown format.
    static func ofImage(_ bytes: [UInt8]) -> String? {
        if let signature = signatures.first(where: { bytes.starts(with: $0.start) }) { return signature.type }
        if bytes.count >= 12 {
            if bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WEBP".utf8) { return "image/webp" }
            if bytes[4..<12].elementsEqual("ftypavif".utf8) { return "image/avif" }
        }
        // An SVG image begins with a declaration, a comment or the element itself.
        let start = String(decoding: bytes.prefix(decisive), as: UTF8.self)
        let isMarkup = start.first { !$0.isWhitespace && $0 != "\u{feff}" } == "<"
        return isMarkup && start.contains("<svg") ? svg : nil
    }
}
