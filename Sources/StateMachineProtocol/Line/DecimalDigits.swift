extension UnsafeMutableRawPointer {
    /// Writes the last `digits` digits of a number, two at a time.
    func write(_ number: UInt64, digits: Int) {
        var (rest, index) = (number, digits)
        while index >= 2 {
            let pair = UInt16(truncatingIfNeeded: rest % 100)
            rest /= 100
            index -= 2
            let digits = 0x3030 &+ (pair / 10) &+ (pair % 10) << 8
            self.storeBytes(of: digits.littleEndian, toByteOffset: index, as: UInt16.self)
        }
        if index == 1 {
            let digit = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            self.storeBytes(of: digit, as: UInt8.self)
        }
    }
}
