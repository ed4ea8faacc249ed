// Draws the charts of a page by Chart.js, from the descriptions that chart_page.cpp has put into their containers.
'use strict';
(() => {
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const ink = () => colour('--ink');
  const grid = () => colour('--grid');
  const charts = [];

  // Three digits and the unit that a person would choose, as value_text() of chart_axis.cpp.
  const digits = value => Number(value.toPrecision(3)).toLocaleString('en', {maximumFractionDigits: 6});
  const prefixes = {
    seconds: [[1, ' s'], [1e-3, ' ms'], [1e-6, ' us'], [1e-9, ' ns']],
    per_second: [[1e9, ' G/s'], [1e6, ' M/s'], [1e3, ' k/s'], [1, ' /s']],
    bytes_per_second: [[1e9, ' GB/s'], [1e6, ' MB/s'], [1e3, ' kB/s'], [1, ' B/s']],
    bytes: [[2 ** 40, 'T'], [2 ** 30, 'G'], [2 ** 20, 'M'], [1024, 'K'], [1, '']],
    number: [[1e9, ' billion'], [1e6, ' million'], [1, '']],
    percent: [[1, ' %']],
  };
  const text = (value, quantity) => {
    if (value === 0) return '0';
    const all = prefixes[quantity];
    const [factor, unit] = all.find(each => Math.abs(value) >= 0.9995 * each[0]) || all[all.length - 1];
    return digits(value / factor) + unit;
  };

  // Between the decades of a logarithmic axis only 2 and 5 have labels, and only where few decades are shown.
  const tickText = axis => function (value) {
    if (!axis.logarithmic) return text(value, axis.quantity);
    const lead = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
    const decades = Math.log10(this.max / this.min);
    const isRound = wanted => wanted.some(each => Math.abs(lead - each) < 1e-6);
    return isRound(decades > 3 ? [1] : decades > 0.7 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9]) ? text(value, axis.quantity) : null;
  };

  const scaleOf = (axis, title) => ({
    type: axis.logarithmic ? 'logarithmic' : 'linear',
    title: {display: title && axis.label !== '', text: axis.label, color: ink},
    grid: {color: grid, borderColor: grid},
    ticks: {color: ink, callback: tickText(axis), maxRotation: 0, autoSkipPadding: 12},
  });

  const valueScale = (chart, title) => ({...scaleOf(chart.value, title), min: chart.value.least, max: chart.value.most});

  // Of an axis x with few values each has a label, as far as there is room.
  const xScale = chart => {
    const scale = scaleOf(chart.x, true);
    if (chart.ticks.length > 0) {
      scale.ticks.callback = value => (chart.ticks.find(each => each.at === value) || {text: null}).text;
      scale.afterBuildTicks = axis => {
        // Labels that would touch the one before them are left out.
        const position = value => axis.type === 'logarithmic' ? Math.log(value / axis.min) / Math.log(axis.max / axis.min)
                                                           : (value - axis.min) / (axis.max - axis.min);
        const least = 44 / Math.max(axis.chart.width - 80, 100);
        let last = -Infinity;
        const isApart = each => {
          if (position(each.at) - last < least) return false;
          last = position(each.at);
          return true;
        };
        axis.ticks = chart.ticks.filter(each => each.at >= axis.min && each.at <= axis.max).filter(isApart).map(each => ({value: each.at}));
      };
    }
    return scale;
  };

  // What Chart.js has no element for: whiskers, bands, and the figures beside bars.
  const marks = {
    id: 'weftMarks',
    beforeDatasetsDraw(drawn) {
      const {chart} = drawn.config.options;
      const {ctx, chartArea: area} = drawn;
      const scale = drawn.scales[chart.form === 'bars' ? 'x' : 'y'];
      drawn.weftBandNames = [];
      for (const band of chart.bands) {
        const [a, b] = [band.from, band.to].map(value => scale.getPixelForValue(Math.max(value, scale.min)));
        ctx.save();
        ctx.beginPath();
        ctx.rect(area.left, area.top, area.width, area.height);
        ctx.clip();
        ctx.globalAlpha = 0.14;
        ctx.fillStyle = colour('--band');
        if (chart.form === 'bars') ctx.fillRect(Math.min(a, b), area.top, Math.abs(b - a), area.height);
        else ctx.fillRect(area.left, Math.min(a, b), area.width, Math.abs(b - a));
        drawn.weftBandNames.push({text: band.name, x: chart.form === 'bars' ? Math.max(a, b) - 6 : area.right - 6,
          y: (chart.form === 'bars' ? area.bottom : Math.min(Math.max(a, b), area.bottom)) - 16});
        ctx.restore();
      }
    },
    afterDatasetsDraw(drawn) {
      const {chart} = drawn.config.options;
      const {ctx, chartArea: area} = drawn;
      const isLying = chart.form === 'bars';
      const scale = drawn.scales[isLying ? 'x' : 'y'];
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left - 6, area.top - 6, isLying ? drawn.width : area.width + 12, area.height + 12);
      ctx.clip();
      drawn.data.datasets.forEach((dataset, index) => {
        if (!drawn.isDatasetVisible(index)) return;
        drawn.getDatasetMeta(index).data.forEach((element, pointIndex) => {
          const point = dataset.points[pointIndex];
          if (!point) return;
          let end = isLying ? element.x : element.y;
          if (chart.is_of_dots) {
            ctx.fillStyle = dataset.colour;
            ctx.beginPath();
            ctx.arc(element.x, element.y, 4.5, 0, 2 * Math.PI);
            ctx.fill();
            end += isLying ? 4.5 : 0;
          }
          if (point.high > point.low) {
            const low = scale.getPixelForValue(Math.max(point.low, scale.min));
            const high = scale.getPixelForValue(point.high);
            ctx.strokeStyle = isLying ? ink() : dataset.borderColor;
            ctx.lineWidth = 1;
            ctx.beginPath();
            if (isLying) {
              ctx.moveTo(low, element.y); ctx.lineTo(high, element.y);
              for (const at of [low, high]) { ctx.moveTo(at, element.y - 4); ctx.lineTo(at, element.y + 4); }
            } else {
              ctx.moveTo(element.x, low); ctx.lineTo(element.x, high);
              for (const at of [low, high]) { ctx.moveTo(element.x - 3, at); ctx.lineTo(element.x + 3, at); }
            }
            ctx.stroke();
            end = Math.max(end, high);
          }
          if (isLying) {
            ctx.fillStyle = ink();
            ctx.font = '12px system-ui, sans-serif';
            ctx.textBaseline = 'middle';
            ctx.fillText(point.text, end + 6, element.y);
          }
        });
      });
      Object.assign(ctx, {font: '12px system-ui, sans-serif', textBaseline: 'top', textAlign: 'right', lineWidth: 3, lineJoin: 'round',
        strokeStyle: colour('--paper'), fillStyle: ink()});
      for (const name of drawn.weftBandNames) {
        ctx.strokeText(name.text, name.x, name.y);
        ctx.fillText(name.text, name.x, name.y);
      }
      ctx.restore();
    },
  };

  // Dragging with a mouse shows a part of the axes; the button shows the whole again.
  const addZoom = (drawn, container) => {
    const canvas = drawn.canvas;
    const whole = document.createElement('button');
    whole.className = 'whole';
    whole.textContent = 'show all';
    whole.hidden = true;
    const first = {};
    for (const axis of ['x', 'y']) first[axis] = {min: drawn.options.scales[axis].min, max: drawn.options.scales[axis].max};
    let begin = null;
    const frame = document.createElement('div');
    frame.style.cssText = 'position:absolute;border:1px dashed var(--soft);pointer-events:none';
    frame.hidden = true;
    container.append(frame, whole);
    const at = event => {
      const box = canvas.getBoundingClientRect();
      const area = drawn.chartArea;
      return {x: Math.min(Math.max(event.clientX - box.left, area.left), area.right),
              y: Math.min(Math.max(event.clientY - box.top, area.top), area.bottom)};
    };
    canvas.addEventListener('pointerdown', event => {
      if (event.pointerType !== 'mouse' || event.button !== 0) return;
      begin = at(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => {
      if (!begin) return;
      const end = at(event);
      Object.assign(frame.style, {left: Math.min(begin.x, end.x) + 'px', top: Math.min(begin.y, end.y) + 'px',
        width: Math.abs(end.x - begin.x) + 'px', height: Math.abs(end.y - begin.y) + 'px'});
      frame.hidden = false;
    });
    canvas.addEventListener('pointerup', event => {
      if (!begin) return;
      const end = at(event);
      frame.hidden = true;
      if (Math.abs(end.x - begin.x) > 12 && Math.abs(end.y - begin.y) > 12) {
        for (const axis of ['x', 'y']) {
          const scale = drawn.scales[axis];
          const ends = [scale.getValueForPixel(begin[axis]), scale.getValueForPixel(end[axis])];
          Object.assign(drawn.options.scales[axis], {min: Math.min(...ends), max: Math.max(...ends)});
        }
        whole.hidden = false;
        drawn.update('none');
      }
      begin = null;
    });
    whole.addEventListener('click', () => {
      for (const axis of ['x', 'y']) Object.assign(drawn.options.scales[axis], first[axis]);
      whole.hidden = true;
      drawn.update('none');
    });
  };

  const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 5]];
  const points = ['circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star'];

  // Each line with its dashes, which Chart.js leaves out of a legend of lines.
  const legendOf = drawn => drawn.data.datasets.map((dataset, index) => ({text: dataset.label, datasetIndex: index,
    hidden: !drawn.isDatasetVisible(index), strokeStyle: dataset.borderColor, fillStyle: dataset.colour, fontColor: ink(),
    lineWidth: dataset.borderWidth || 0, lineDash: dataset.borderDash || [], pointStyle: 'line'}));

  const datasetsOf = chart => chart.series.map(series => {
    const common = {label: series.name, colour: series.colour, borderColor: series.colour, points: series.points,
      backgroundColor: chart.is_of_dots ? 'transparent' : series.colour, hoverBackgroundColor: chart.is_of_dots ? 'transparent' : series.colour};
    if (chart.form === 'lines')
      return {...common, data: series.points.map(point => ({x: point.x, y: point.value})), borderWidth: 2, pointRadius: 3.5,
        pointHoverRadius: 6, borderDash: dashes[series.index_in_family % dashes.length], pointStyle: points[series.index_in_family % points.length]};
    if (chart.form === 'columns')
      return {...common, data: series.points.map(point => ({x: point.x, y: point.value})), grouped: false, barPercentage: 1,
        categoryPercentage: 0.92};
    const pointAt = x => series.points.find(point => point.x === x) || null;
    const bars = chart.categories.map((_, x) => pointAt(x));
    return {...common, points: bars, data: bars.map(point => point && point.value), grouped: chart.is_grouped,
      barPercentage: 0.9, categoryPercentage: 0.8, maxBarThickness: 22};
  });

  const optionsOf = (chart, room) => {
    const isLying = chart.form === 'bars';
    const options = {
      chart,
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      normalized: true,
      interaction: {mode: 'nearest', intersect: false, axis: isLying ? 'y' : 'xy'},
      layout: {padding: {right: isLying ? room : 12, top: 4}},
      plugins: {
        title: {display: !isLying, text: chart.value.label, align: 'start', color: ink, font: {weight: 'normal', size: 12}, padding: {bottom: 6}},
        legend: {display: chart.series.length > 1, position: 'bottom', align: 'start',
          labels: {color: ink, usePointStyle: chart.form === 'lines', pointStyleWidth: 34, boxWidth: 14, boxHeight: 10,
            generateLabels: legendOf}},
        tooltip: {callbacks: {
          title: items => items.length === 0 ? '' : isLying ? chart.categories[items[0].dataIndex] : chart.x.label + ': ' + items[0].dataset.points[items[0].dataIndex].at,
          label: item => item.dataset.label + ': ' + item.dataset.points[item.dataIndex].words,
        }},
      },
    };
    if (isLying) {
      const names = {type: 'category', labels: chart.categories, grid: {display: false, borderColor: grid}, ticks: {color: ink, autoSkip: false}};
      return {...options, indexAxis: 'y', scales: {x: valueScale(chart, true), y: names}};
    }
    const x = xScale(chart);
    Object.assign(x, {min: chart.x.least, max: chart.x.most, offset: false});
    if (chart.form === 'columns') x.afterBuildTicks = axis => { axis.ticks = axis.ticks.filter(each => Number.isInteger(each.value)); };
    return {...options, scales: {x, y: valueScale(chart, false)}};
  };

  const heightOf = (chart, legendRows) => 24 * legendRows + (chart.form !== 'bars' ? 330
    : 64 + chart.categories.length * (chart.is_grouped ? 12 + 18 * chart.series.length : 30));

  for (const container of document.querySelectorAll('.chart')) {
    const chart = JSON.parse(container.querySelector('script').textContent);
    const canvas = document.createElement('canvas');
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', chart.title + '; the figures are in the table below');
    const context = canvas.getContext('2d');
    context.font = '12px system-ui, sans-serif';
    const room = 14 + Math.max(...chart.series.flatMap(each => each.points).map(point => context.measureText(point.text).width));
    const legendWidth = chart.series.reduce((sum, each) => sum + context.measureText(each.name).width + 54, 0);
    container.style.height = heightOf(chart, chart.series.length > 1 ? Math.ceil(legendWidth / container.clientWidth) : 0) + 'px';
    container.append(canvas);
    const drawn = new Chart(canvas, {type: chart.form === 'lines' ? 'line' : 'bar', data: {datasets: datasetsOf(chart)},
      options: optionsOf(chart, room), plugins: [marks]});
    if (chart.form !== 'bars') addZoom(drawn, container);
    charts.push(drawn);
    const table = container.parentElement.querySelector('details');
    if (table) table.open = false;
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.forEach(each => each.update('none')));
})();
