internal import CHTTPDNSZlib

/// zlib's compressor. It takes bytes piece by piece, and returns output when it has enough. Its memory is bounded (256
/// KiB).
final class Deflater {
    /// An error of zlib.
    struct Fault: Error, Hashable, CustomStringConvertible {
        /// The error number of zlib.
        let number: Int32

        var description: String {
            number == Z_MEM_ERROR ? "there is no memory for compressing" : "zlib failed with \(number)"
        }
    }

    /// The maximum output of one call.
    private static let portion = 64 * 1024
    /// The maximum input of one call, far below the 32-bit counters of zlib.
    private static let inputPortion = 1 << 20

    // The address of the stream is part of its state.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether all output has been returned.
    private(set) var isFinished = false

    /// - Throws: ``Fault``.
    init(_ coding: HTTPDNSClient.ContentCoding) throws(Fault) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Level and memory are zlib's own defaults.
        let status = chttpdnszlib_deflate_init(stream, Z_DEFAULT_COMPRESSION, coding.windowBits, 8)
        guard status == Z_OK else {
            stream.deallocate()
            throw Fault(number: status)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Removes at least one byte from the front of `input`.
    /// - Returns: The output so far, which may be empty.
    /// - Throws: ``Fault``.
    func add(_ input: inout ArraySlice<UInt8>) throws(Fault) -> [UInt8] {
        let portion = input.prefix(Deflater.inputPortion)
        let (output, taken) = try run(portion, Z_NO_FLUSH)
        input = input.dropFirst(taken)
        return output
    }

    /// Ends the input. Call it until ``isFinished``.
    /// - Throws: ``Fault``.
    func finish() throws(Fault) -> [UInt8] { try run([], Z_FINISH).output }

    private func run(_ input: ArraySlice<UInt8>, _ flush: Int32) throws(Fault) -> (output: [UInt8], taken: Int) {
        var status = Z_OK
        var taken = 0
        let output = [UInt8](unsafeUninitializedCapacity: Deflater.portion) { room, initialized in
            input.withUnsafeBufferPointer { input in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = room.baseAddress
                stream.pointee.avail_out = UInt32(Deflater.portion)
                status = deflate(stream, flush)
                taken = input.count - Int(stream.pointee.avail_in)
                initialized = Deflater.portion - Int(stream.pointee.avail_out)
                // Neither pointer outlives the call.
                stream.pointee.next_in = nil
                stream.pointee.next_out = nil
            }
        }
        if status == Z_STREAM_END { isFinished = true }
        guard status == Z_OK || status == Z_STREAM_END else { throw Fault(number: status) }
        return (output, taken)
    }
}
