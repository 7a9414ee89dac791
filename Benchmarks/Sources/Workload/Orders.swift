// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The runner's orders to a contender, read from its arguments.
public struct Orders: Sendable {
    /// The URL to request again and again.
    public var url = ""
    /// The name in the URL.
    public var host = ""
    /// The addresses of that name; the first one is connected to.
    public var addresses: [String] = []
    /// The number of requests in flight at any time.
    public var inFlight = 1
    /// The number of measured requests.
    public var requests = 0
    /// The number of requests before them, which warm connections and caches.
    public var warmUp = 0
    /// The length that every body must have.
    public var bodyBytes = 0
    /// Whether answers must be HTTP/2; otherwise they must be HTTP/1.1.
    public var isHTTP2 = false
    /// A PEM file with the authority of the origin's certificate.
    public var certificateFile: String?
    /// The number of other names that are requested once on each address before the measurement.
    public var otherNames = 0
    /// Whether the bytes of bodies are counted as they come, and kept nowhere.
    public var discards = false
    /// The file that each body is saved to; nil for none.
    public var savePath: String?
    /// The number of other requests in flight, to a URL that never responds.
    public var silent = 0
    /// The URL that never responds.
    public var silentURL = ""
    /// The number of other requests in flight, to a URL that responds late; each is sent again when its response is there.
    public var slow = 0
    /// The URL that responds late.
    public var slowURL = ""
    /// The length of the body that each request sends in a POST; 0 for GETs.
    public var postBytes = 0
    /// The file whose bytes each POST has; nil for none.
    public var uploadPath: String?
    /// Whether the body of each POST is a stream of 64 KiB chunks.
    public var streamsUpload = false
    /// The number of mappings of other names.
    public var otherMappings = 0
    /// The number of the client's loops; 0 leaves the default.
    public var loops = 0
    /// The number of interceptors that pass requests on.
    public var interceptors = 0
    /// Whether a traffic monitor records the calls.
    public var isMonitored = false
    /// Whether metrics and spans of the calls are kept.
    public var isObserved = false
    /// The configuration file of the client.
    public var settingsFile = ""
    /// The time of the calendar at which the process started, in seconds: the measurement begins then. Nil begins it at the
    /// first measured request.
    public var started: Double?
    /// The response cache: `memory`, or the path of a folder; nil for none.
    public var cache: String?

    /// Reads `--flag value` pairs.
    /// - Throws: ``OrdersError`` for an unknown flag, a missing or unreadable value.
    public init(arguments: some Sequence<String>) throws(OrdersError) {
        var rest = arguments.makeIterator()
        while let flag = rest.next() {
            guard let value = rest.next() else { throw OrdersError("\(flag) needs a value") }
            switch flag {
            case "--url": url = value
            case "--host": host = value
            case "--addresses": addresses = value.split(separator: ",").map(String.init)
            case "--in-flight": inFlight = try Self.count(value, flag, from: 1)
            case "--requests": requests = try Self.count(value, flag, from: 1)
            case "--warm-up": warmUp = try Self.count(value, flag, from: 0)
            case "--body-bytes": bodyBytes = try Self.count(value, flag, from: 0)
            case "--http-version": isHTTP2 = try Self.isHTTP2(value)
            case "--cacert": certificateFile = value
            case "--other-names": otherNames = try Self.count(value, flag, from: 0)
            case "--discard": discards = try Self.count(value, flag, from: 0) > 0
            case "--save": savePath = value
            case "--silent": silent = try Self.count(value, flag, from: 1)
            case "--silent-url": silentURL = value
            case "--slow": slow = try Self.count(value, flag, from: 1)
            case "--slow-url": slowURL = value
            case "--post": postBytes = try Self.count(value, flag, from: 1)
            case "--upload-file": uploadPath = value
            case "--upload-stream": streamsUpload = try Self.count(value, flag, from: 0) > 0
            case "--other-mappings": otherMappings = try Self.count(value, flag, from: 1)
            case "--interceptors": interceptors = try Self.count(value, flag, from: 1)
            case "--monitored": isMonitored = try Self.count(value, flag, from: 0) > 0
            case "--observed": isObserved = try Self.count(value, flag, from: 0) > 0
            case "--settings": settingsFile = value
            case "--started": started = Double(value)
            case "--cache": cache = value
            case "--loops": loops = try Self.count(value, flag, from: 1)
            default: throw OrdersError("\(flag) is unknown")
            }
        }
        if url.isEmpty || host.isEmpty || addresses.isEmpty || requests == 0 {
            throw OrdersError("--url, --host, --addresses and --requests are needed")
        }
    }

    /// The name of another host, by number.
    public func otherHost(_ number: Int) -> String { "n\(number).\(host)" }

    /// The URL with another host in place of its own.
    public func otherURL(_ number: Int) -> String {
        url.replacing("://\(host)", with: "://\(otherHost(number))", maxReplacements: 1)
    }

    /// The body of each POST.
    public var postBody: [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: postBytes) }
    /// The same body as a stream.
    public var postStream: UploadStream { UploadStream(bytes: postBytes) }

    private static func count(_ text: String, _ flag: String, from minimum: Int) throws(OrdersError) -> Int {
        guard let number = Int(text), number >= minimum else {
            throw OrdersError("\(flag) takes a number from \(minimum), not \"\(text)\"")
        }
        return number
    }

    private static func isHTTP2(_ text: String) throws(OrdersError) -> Bool {
        switch text {
        case "1.1": false
        case "2": true
        default: throw OrdersError("--http-version takes 1.1 or 2, not \"\(text)\"")
        }
    }
}

/// A body of a length in chunks of 64 KiB.
public struct UploadStream: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private var left: Int
    private let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 64 * 1024)

    init(bytes: Int) { left = bytes }

    /// Returns the next chunk; nil at the end.
    public mutating func next() async -> [UInt8]? {
        guard left > 0 else { return nil }
        let count = Swift.min(left, chunk.count)
        left -= count
        return count == chunk.count ? chunk : Array(chunk.prefix(count))
    }

    /// Itself: a copy begins again.
    public func makeAsyncIterator() -> UploadStream { self }
}

/// Orders that cannot be followed.
public struct OrdersError: Error, CustomStringConvertible {
    /// The fault.
    public let description: String

    /// Creates the error.
    public init(_ description: String) {
        self.description = description
    }
}
