"""A small right hardware file with everything that binary programs need."""

CODED = """\
name: coded
clock: 1 GHz
synchronisation: tokens
parameters: {dim: 4}
memories:
  dram: {kind: external, size: 1 GiB, source: estimate}
  sram: {kind: managed, size: 1 KiB, granule: 4 bytes, source: estimate}
units: {dma: {}, alu: {}}
channels:
  filled: {from: dma, to: alu, depth: 4}
  free: {from: alu, to: dma, depth: 4}
state:
  pitch:
    registers: [step]
    copies: 2
    unit: dma
    set_by: {format: move, set: {code: 3, which: copy, stride: step}}
    source: estimate
encoding:
  endian: big
  word: 16
  base: {default: 4096, align: 4 bytes}
  formats:
    move:
      size: 8 bytes
      fields:
        code: 0-3
        which: 4
        pop: {at: 5, pops: [free, filled]}
        push: {at: 6, pushes: [free, filled]}
        count: 8-15
        local: w1 0-15
        stride: w2 0-7
        far: 40-63
    step:
      size: 8 bytes
      fields:
        code: 0-3
        pop: {at: 5, pops: [free, filled]}
        push: {at: 6, pushes: [free, filled]}
        times: 8-15
        entry: w1 0-7
        step: w1 8-15
        number: {at: w2 0-7, signed: true}
    entry: {size: 2 bytes, fields: {local: 0-15}}
  tables:
    places:
      format: entry
      capacity: 4
      unit: alu
      load: {format: move, set: {code: 4, which: first, count: count, far: base + address}}
      source: estimate
  end:
    unit: alu
    command: {format: step, set: {code: 15}}
    source: estimate
  source: estimate
instructions:
  load:
    semantics: |
      S, D = In(i32, dim, dim), Out(i32, dim, dim)
      for r, n in grid(dim, dim):
        D[r, n] = S[r, n]
    extents: {r: at_most, n: exactly}
    operands:
      S: {memory: dram, strides: [{multiple_of: 4 bytes, at_most: 1020 bytes}, 4 bytes]}
      D: {memory: sram, strides: [16 bytes, 4 bytes]}
    unit: dma
    issue: r * n cycles
    obeys: {pitch: {step: S.r / 4}}
    emit:
      bits:
        format: move
        set: {code: 1, which: [0, 1], count: r - 1, local: D / 4, far: base + S}
    source: estimate
  scale:
    semantics: |
      X = InOut(i32, dim)
      for n in range(dim):
        X[n] = X[n] * factor
    extents: {n: exactly}
    operands: {X: sram}
    repeat: {times: {at_most: 8, strides: {X: {multiple_of: 4 bytes, at_most: 64 bytes}}}}
    immediates: {factor: {min: -8, max: 15}}
    unit: alu
    issue: n * times cycles
    emit:
      bits:
        format: step
        set: {code: 2, times: times - 1, entry: places.first, step: X.times / 4, number: factor}
        entries:
          places: {set: {local: X / 4}}
    source: estimate
  store:
    semantics: |
      S, D = In(i32, dim), Out(i32, dim)
      for n in range(dim):
        D[n] = S[n]
    extents: {n: exactly}
    operands: {S: sram, D: dram}
    unit: dma
    issue: dim cycles
    emit: {bits: {format: move, set: {code: 5, local: S / 4, far: base + D}}}
    source: estimate
  wait_dma:
    is_sync: true
    unit: dma
    issue: 1 cycle
    emit: {bits: {format: move, set: {code: 0}}}
    source: estimate
  wait_alu:
    is_sync: true
    unit: alu
    issue: 1 cycle
    emit: {bits: {format: step, set: {code: 6}}}
    source: estimate
"""
