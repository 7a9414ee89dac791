// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl

/// The memory that libcurl reads and writes during a transfer, and does not copy.
struct LentBuffers {
    /// The buffer for libcurl's error messages; it must outlive each transfer (CURLOPT_ERRORBUFFER).
    let errorBuffer: UnsafeMutablePointer<CChar>
    /// The parts of the URL (CURLOPT_CURLU); libcurl reads them at the beginning of each transfer.
    let urlParts: OpaquePointer?
    /// The header lines of the request; freed at the end of the transfer. The last node may be the loop's
    /// ``TransportLoop/acceptedCodings``.
    var headerList: UnsafeMutablePointer<curl_slist>?
    /// The copy of a body that is sent together with the head, see ``MethodOptions/sendsBodyWithHead``.
    private(set) var bodyCopy: UnsafeMutableRawBufferPointer?
    /// The RESOLVE lines before the pin's own; the last node points into the pin's list.
    private var removalList: UnsafeMutablePointer<curl_slist>?

    init() {
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        urlParts = curl_url()
    }

    /// Frees what outlives transfers. libcurl's handle must have gone.
    mutating func deallocate() {
        curl_url_cleanup(urlParts)
        errorBuffer.deallocate()
        freeBodyCopy()
    }

    mutating func copyBody(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyBytes(from: bytes)
        bodyCopy = copy
        return copy
    }

    mutating func freeBodyCopy() {
        bodyCopy?.deallocate()
        bodyCopy = nil
    }

    /// Returns `removals`, then the pin's entry, which belongs to the pin.
    mutating func resolveList(removals: [String], then pin: Pin) -> UnsafeMutablePointer<curl_slist>? {
        guard !removals.isEmpty else { return pin.resolve }
        for line in removals { removalList = curl_slist_append(removalList, line) }
        var last = removalList
        while let next = last?.pointee.next { last = next }
        last?.pointee.next = pin.resolve
        return removalList
    }

    /// - Parameter tail: The pin's list.
    mutating func freeRemovalList(before tail: UnsafeMutablePointer<curl_slist>?) {
        LentBuffers.free(removalList, before: tail)
        removalList = nil
    }

    /// - Parameter tail: The loop's list.
    mutating func freeHeaderList(before tail: UnsafeMutablePointer<curl_slist>?) {
        LentBuffers.free(headerList, before: tail)
        headerList = nil
    }

    /// Frees the nodes of a list before a tail that belongs to another object.
    private static func free(_ list: UnsafeMutablePointer<curl_slist>?, before tail: UnsafeMutablePointer<curl_slist>?)
    {
        guard list != tail else { return }
        var last = list
        while let node = last {
            if node.pointee.next == tail {
                node.pointee.next = nil
                break
            }
            last = node.pointee.next
        }
        curl_slist_free_all(list)
    }
}
